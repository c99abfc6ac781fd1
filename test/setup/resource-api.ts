// The API over bindings as the control plane has it, over a platform that serves a project, with a sandbox service.
import { createApi } from '#control/api/app.ts';
import { openSandboxService } from '#control/process/sandbox-service.ts';
import type { AskResourceApi } from '#test/contract/resource-api-answer.ts';
import type { OpenResourceApi } from '#test/contract/sandbox-api.ts';
import { createTestDatabase } from './postgres.ts';
import { startReleaseControl, type ReleaseControl } from './release-control.ts';
import { startTestSandboxService, type TestSandboxService } from './sandbox-service.ts';

/** It, and who answers. */
export interface TestResourceApi {
  readonly all: ReleaseControl;
  readonly service: TestSandboxService;
  readonly projectId: string;
  /** Asks as the owner of the organization. */
  readonly ask: AskResourceApi;
  /** Asks with a token. */
  asked(token: string): AskResourceApi;
  readonly open: OpenResourceApi;
  /** Hands a request to the API, of which some dependencies may differ. */
  fetch(path: string, init?: RequestInit, deps?: ReleaseControl['control']['deps']): Promise<Response>;
  close(): Promise<void>;
}

/**
 * Starts all of it, with the project of the files deployed.
 *
 * @param options `stores`: what bindings of the project need; default true.
 */
export async function startResourceApi(
  project: Readonly<Record<'src/index.ts' | 'platform.yaml', string> & Record<string, string>>,
  { stores = true }: { readonly stores?: boolean } = {},
): Promise<TestResourceApi> {
  const database = stores ? await createTestDatabase() : null;
  const service = await startTestSandboxService();
  const hop = openSandboxService(service.address, 'https://*.apps.example.net')!;
  const environment = { DELIVERY_RETRIES: '1', DELIVERY_BACKOFF_MS: '1', DELIVERY_BACKOFF_MS_MAX: '1' };
  const all = await startReleaseControl(
    environment,
    { sandboxes: hop },
    database === null ? { databases: false } : { postgres: database },
  );
  const projectId = await all.project('shop');
  const { 'src/index.ts': code, 'platform.yaml': yaml, ...files } = project;
  const { status, error_message: reason } = await all.deploy(projectId, { code, yaml, files });
  if (status !== 'success') throw new Error(reason ?? status);
  const api = createApi();
  const fetch: TestResourceApi['fetch'] = async (path, init = {}, deps = all.control.deps) =>
    api.fetch(new Request(`http://api/projects/${projectId}${path}`, init), deps);
  const asked: TestResourceApi['asked'] = (token) => async (method, path, body) => {
    const isFile = body instanceof Uint8Array;
    const answer = await fetch(path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': isFile ? 'text/html' : 'application/json' }),
      },
      ...(body !== undefined && { body: isFile ? Buffer.from(body) : JSON.stringify(body) }),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    return {
      status: answer.status,
      headers: answer.headers,
      bytes,
      body: isJson ? JSON.parse(bytes.toString()) : undefined,
    };
  };
  const { token } = all.control.owner;
  return {
    all,
    service,
    projectId,
    ask: asked(token),
    asked,
    open: (method, path, { headers, ...given } = {}) =>
      fetch(path, { method, headers: { authorization: `Bearer ${token}`, ...headers }, ...given }),
    fetch,
    async close() {
      await all.close();
      await hop.close();
      await service.close();
      await database?.close();
    },
  };
}
