// A supervisor with the API, started with a test's variables, and deployments by upload to it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { packArtifact } from '#artifacts/archive/pack-artifact.ts';
import { nodeFlags } from '#core/node-flags.mjs';
import { deployInto } from './deployed-sources.ts';
import { until } from './until.ts';

/** One that has started. */
export interface UploadingApi {
  readonly origin: string;
  readonly token: string;
  /** Of its handler; 0 while it has none. */
  readonly handlerPort: () => number;
  call<Body>(method: string, at: string, body?: unknown): Promise<Body>;
  createProject(name: string): Promise<string>;
  /** Deploys a worker and its platform.yaml; its id. */
  deploy(projectId: string, branch: string, code: string, yaml?: string): Promise<string>;
  stop(): Promise<void>;
}

/** @param root sources are built there. */
export async function startUploadingApi(
  root: string,
  variables: Readonly<Record<string, string>>,
): Promise<UploadingApi> {
  const program = path.join(import.meta.dirname, '../../runtime/supervisor/main.ts');
  const child: ChildProcess = fork(program, {
    execArgv: [...nodeFlags],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...variables },
    stdio: ['ignore', process.env['TEST_SHOW_LOG'] === undefined ? 'ignore' : 'inherit', 'inherit', 'ipc'],
  });
  let handlerPort = 0;
  const started = await new Promise<{ port: number; firstRun: { token: string } }>((resolve, reject) => {
    child.on('message', (message: { type: string; port: number; firstRun: { token: string } }) => {
      if (message.type === 'control') resolve(message);
      if (message.type === 'listening') handlerPort = message.port;
    });
    child.once('exit', (code) => reject(new Error(`The API ended before it was ready: ${code}`)));
  });
  const { token } = started.firstRun;
  const origin = `http://127.0.0.1:${started.port}`;

  async function call<Body>(method: string, at: string, body?: unknown): Promise<Body> {
    const isBytes = body instanceof Uint8Array;
    const answer = await fetch(`${origin}${at}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': isBytes ? 'application/octet-stream' : 'application/json',
      },
      ...(body !== undefined && { body: isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${at}: ${answer.status} ${text}`);
    return JSON.parse(text === '' ? 'null' : text) as Body;
  }

  return {
    origin,
    token,
    handlerPort: () => handlerPort,
    call,
    async createProject(name) {
      const { organizations } = await call<{ organizations: { id: string }[] }>('GET', '/user');
      const made = await call<{ id: string }>('POST', '/projects', { name, organizationId: organizations[0]!.id });
      return made.id;
    },
    async deploy(projectId, branch, code, yaml = '') {
      const folder = mkdtempSync(path.join(root, 'sources-'));
      const made = await deployInto(folder).make('shop', code, yaml);
      const packed = path.join(folder, 'packed');
      await packArtifact(made.folder, packed);
      const bytes = readFileSync(packed);
      const { id } = await call<{ id: string }>('POST', `/projects/${projectId}/uploads`, {
        bytes: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
        branch,
      });
      await call('PUT', `/uploads/${id}`, new Uint8Array(bytes));
      const { deploymentId } = await call<{ deploymentId: string }>('POST', `/uploads/${id}/deploy`);
      const ended = await until(async () => {
        const found = await call<{ status: string; errorMessage: string | null }>(
          'GET',
          `/deployments/${deploymentId}`,
        );
        return ['success', 'failure', 'canceled', 'timeout'].includes(found.status) && found;
      });
      assert.deepEqual([ended.status, ended.errorMessage], ['success', null]);
      return deploymentId;
    },
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
