// The types of services and of durable objects that `platform types` takes from the sources of workers.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { environmentTypes } from '#core/config/environment-types.ts';
import { checkProject, strictSettings, type Said } from './users-project.ts';

const { config } = parseProjectConfig(
  'object: { ROOM: ChatRoom, DESK: { class: Desk, project: office } }\n' +
    'service: { OFFICE: office, ADMIN: { project: office, entrypoint: Admin }, FAR: elsewhere }\n',
  { file: 'platform.yaml' },
);

const files = {
  'tsconfig.json': strictSettings.replace('"*.ts"', '"*.ts","src"'),
  'env.d.ts': environmentTypes(config!, { own: './src/index', others: new Map([['office', './office/index']]) }),
  'office/index.ts': `
class WorkerEntrypoint {
  readonly env = {};
}
export default class extends WorkerEntrypoint {
  greet(name: string): string { return 'hello ' + name; }
}
export class Admin extends WorkerEntrypoint {
  async user(id: number): Promise<{ id: number; tags: string[] }> { return { id, tags: [] }; }
}
export class Desk {
  drawers(): number { return 3; }
}
`,
  'src/index.ts': `
import type { DurableObjectState, PlatformWorker } from '@platform-run/types';
export class ChatRoom {
  constructor(_ctx: DurableObjectState, env: PlatformEnv) { env.FAR; }
  async say(text: string): Promise<number> { return text.length; }
}
export default {
  async fetch(request, env) {
    const count: number = await env.ROOM.getByName('lobby').say('hello');
    const drawers: number = await env.DESK.getByName('mine').drawers();
    const greeting: string = await env.OFFICE.greet('ada');
    const tags: string[] = await env.ADMIN.user(1).tags;
    const far = await env.FAR.fetch('http://far/');
    return Response.json([count, drawers, greeting, tags, far.status]);
  },
} satisfies PlatformWorker<PlatformEnv>;
`,
  'wrong.ts': `
export async function wrong(env: PlatformEnv): Promise<void> {
  // @ts-expect-error: an argument of another type
  await env.ROOM.getByName('lobby').say(1);
  // @ts-expect-error: no such method
  await env.ROOM.getByName('lobby').shout('hello');
  // @ts-expect-error: no such method
  await env.OFFICE.leave();
  // @ts-expect-error: the entrypoint's own environment
  env.ADMIN.env;
  // @ts-expect-error: a result of another type
  const text: string = await env.DESK.getByName('mine').drawers();
}
`,
};
let said: Said;

before(async () => {
  said = await checkProject(files, ['types'], []);
});

test('methods of the own classes and of those of other projects have their types', () => {
  assert.equal(said('src/index.ts'), '');
  assert.equal(said('office/index.ts'), '');
});

test('what a class does not have is refused', () => {
  assert.equal(said('wrong.ts'), '');
});
