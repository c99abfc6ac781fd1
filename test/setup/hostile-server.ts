// A server of an ssr project that runs the code which a test sends it, beside a project that has something to hide.
import type { TestContext } from 'node:test';
import { startPlatform, type TestPlatform } from './platform.ts';
import { SSR, ssrApp } from './ssr-app.ts';

/** What a test has of it. */
interface HostileServer {
  readonly platform: TestPlatform;
  /** Runs the body of an async function in a server; what it returns, or `{error}` with the code of what it throws. */
  run(code: string, project?: 'bad' | 'good'): Promise<unknown>;
}

const RUNS = `
import fs from 'node:fs';
import net from 'node:net';
import dns from 'node:dns';
import child_process from 'node:child_process';
const names = { fs, net, dns, child_process, http };
globalThis.routes = {
  '/run': async (request, response) => {
    let code = '';
    for await (const chunk of request) code += chunk;
    let result;
    try {
      const run = Object.getPrototypeOf(async () => {}).constructor;
      result = await new run(...Object.keys(names), code)(...Object.values(names));
    } catch (error) {
      result = { error: error.code ?? error.cause?.code ?? String(error) };
    }
    response.end(JSON.stringify(result ?? null));
  },
};
`;

/** Files of such a project. */
export const runningApp = (): Record<string, string> => ssrApp(RUNS);

/** Code for such a project that calls a binding, and gives status and body of the answer. */
export const bindingCall = (binding: string, method: string, ...args: readonly unknown[]): string => `
  const asked = http.request({
    socketPath: process.env.PLATFORM_MOCK_SERVER_URL.slice('unix:'.length),
    path: '/rpc',
    method: 'POST',
    headers: { authorization: 'Bearer ' + process.env.PLATFORM_MOCK_SERVER_TOKEN },
  });
  return await new Promise((resolve, reject) => {
    asked.on('error', reject).on('response', (answer) => {
      let text = '';
      answer.on('data', (chunk) => (text += chunk)).on('end', () => resolve(answer.statusCode + ' ' + text));
    });
    asked.end(${JSON.stringify(JSON.stringify({ binding, method, args }))});
  });`;

export async function openHostileServer(
  t: TestContext,
  environment: Readonly<Record<string, string>> = {},
): Promise<HostileServer> {
  const platform = await startPlatform({}, environment);
  t.after(() => platform.close());
  for (const project of ['good', 'bad']) {
    await platform.deploy(project, '', `${SSR}cache:\n  KV: pages\n`, runningApp());
    await platform.answers(project, 'hello from a server');
  }
  return {
    platform,
    async run(code, project = 'bad') {
      const { text } = await platform.fetch(project, '/run', { method: 'POST', body: code });
      return JSON.parse(text) as unknown;
    },
  };
}
