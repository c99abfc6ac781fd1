// The AI gateway for sandboxes of `platform dev`: a loopback port that accepts only tokens of sandboxes, and calls
// dev's own gateway. The developer's keys stay in this process.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { devCaller, type AiCaller } from '#core/ai-caller.ts';
import { createMemoryAiTokens } from '#sandbox/service/ai-tokens-memory.ts';
import type { AiTokens } from '#sandbox/service/ai-tokens.ts';
import { answerWith } from '../dashboard/web-answer.ts';

// `node:http` is not imported, because an import reads all exports, including the getters that load Node's own HTTP
// client.
const { createServer } = process.getBuiltinModule('node:http');

/** Calls dev's gateway on behalf of a caller. */
export type AskAi = (request: Request, caller: AiCaller) => Promise<Response>;

interface SandboxAi {
  readonly tokens: AiTokens;
  /** URL of the gateway on this computer. */
  readonly url: string;
  close(): void;
}

const HEADERS_BYTES_MAX = 64 * 1024;
const CONNECTIONS_MAX = 256;

/** @param project the project name under which calls are counted. */
export async function openSandboxAi(
  ask: AskAi,
  project: string,
  log: (level: 'warn', message: string) => void,
): Promise<SandboxAi> {
  const tokens = createMemoryAiTokens();
  const caller = devCaller('sandbox', project);
  const server = createServer({ maxHeaderSize: HEADERS_BYTES_MAX, requestTimeout: 0 }, (request, response) => {
    request.on('error', () => {});
    response.on('error', () => {});
    const path = URL.parse(request.url ?? '', 'http://ai')?.pathname ?? '';
    const given = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const isOurs = given !== undefined && tokens.isGood(given);
    if (!isOurs || !/^\/ai(?:\/|$)/.test(path)) {
      const message = isOurs
        ? 'Sandboxes can only reach /ai at this address'
        : 'This is not the token of a running sandbox';
      const text = JSON.stringify({ error: { message, type: 'sandbox', param: null, code: null } });
      response.writeHead(isOurs ? 404 : 401, { 'content-type': 'application/json', connection: 'close' }).end(text);
      return;
    }
    answerWith((asked) => ask(asked, caller), request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(502);
      response.destroy();
      log('warn', `a sandbox got no response from the AI gateway: ${(error as Error).message}`);
    });
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  return {
    tokens,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ai`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
