// Workers with a class of durable objects, for tests of deployments that rename, delete or forget it.
import assert from 'node:assert/strict';
import type { DeployedSource, ReleaseControl } from './release-control.ts';

/** A worker that adds to the count of an object, named by the path. */
export function counter(name: string, classes = ''): DeployedSource {
  return {
    code: `
import { DurableObject } from 'cloudflare:workers';
export class ${name} extends DurableObject {
  async add() {
    const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
    await this.ctx.storage.put('count', count);
    return '${name} ' + count;
  }
  fetch() {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket, message) {
    socket.send('${name}: ' + message);
  }
}
export default {
  async fetch(request, env) {
    if (request.headers.get('upgrade') !== null) return env.COUNT.getByName('socket').fetch(request);
    const id = env.COUNT.idFromName(new URL(request.url).pathname);
    return new Response((await env.COUNT.get(id).add()) + ' ' + String(id).slice(0, 8));
  },
};`,
    yaml: `object: { COUNT: ${name} }\n${classes}`,
  };
}

export const plain: DeployedSource = { code: 'export default { fetch: () => new Response("no objects") };' };
/** Deploys, and expects success. @returns the deployment's id */
export async function deployed(
  all: ReleaseControl,
  project: string,
  source: DeployedSource,
  branch?: string,
): Promise<string> {
  const made = await all.deploy(project, source, branch);
  assert.equal(made.status, 'success', `${made.reason}: ${made.error_message}`);
  return made.id;
}
