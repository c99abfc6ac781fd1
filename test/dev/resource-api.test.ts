// The API over bindings, answered by `platform dev`.
import { rm } from 'node:fs/promises';
import { after, before } from 'node:test';
import { createDashboardProject } from '#test/setup/dashboard-project.ts';
import { startDev, type TestDev } from '#test/setup/dev.ts';
import type { AskResourceApi } from '#test/contract/resource-api-answer.ts';
import { keepsToResourceApi, resourceProject } from '#test/contract/resource-api.ts';
import { keepsToSandboxApi } from '#test/contract/sandbox-api.ts';

let folder: string;
let dev: TestDev;
let base: string;
before(async () => {
  Object.assign(process.env, { DELIVERY_RETRIES: '1', DELIVERY_BACKOFF_MS: '1', DELIVERY_BACKOFF_MS_MAX: '1' });
  folder = await createDashboardProject(resourceProject);
  dev = await startDev(folder);
  const [, url] = await dev.printed(/Dashboard (http:\/\/127\.0\.0\.1:\d+)/);
  base = `${url}/api/projects/shop`;
});
after(async () => {
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

const ask: AskResourceApi = async (method, path, body) => {
  const isFile = body instanceof Uint8Array;
  const answer = await fetch(base + path, {
    method,
    ...(body !== undefined && {
      body: isFile ? Buffer.from(body) : JSON.stringify(body),
      headers: { 'content-type': isFile ? 'text/html' : 'application/json' },
    }),
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

keepsToResourceApi(ask, { fetch: (path) => dev.fetch(path), listsCaches: true });
keepsToSandboxApi(ask, (method, path, given) => fetch(base + path, { method, ...given }));
