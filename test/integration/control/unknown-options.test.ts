// Options and members that no route declares: each is refused by its name.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { makeScene, readOperations, sampleRequest, type Scene } from '#test/setup/control-walk.ts';

let control: TestControl;
let scene: Scene;
before(async () => {
  control = await startControl({ limits: { ...defaultLimits.control, requestsPerMinute: 1_000_000 } });
  scene = await makeScene(control);
});
after(() => control.close());

interface Refusal {
  readonly issues?: readonly { readonly path: readonly unknown[]; readonly message: string; readonly in: string }[];
}

function names(place: 'query' | 'body', answer: Refusal | null): boolean {
  const issues = answer?.issues ?? [];
  // Parameters of the path are checked first.
  return issues.some(
    (issue) =>
      (issue.in === place && issue.path[0] === 'surprise' && issue.message === 'is not allowed') ||
      issue.in === 'params',
  );
}

test('every route that needs credentials refuses unknown options and members by name', async () => {
  const token = scene.tokenOf('owner');
  const failed: string[] = [];
  for (const operation of await readOperations(control)) {
    if (operation.permission === null || operation.permission === 'operator') continue;
    const { path, body } = sampleRequest(scene, operation);
    const option = `${path}${path.includes('?') ? '&' : '?'}surprise=1`;
    const asked = await control.call(operation.method, option, body, token);
    if (!names('query', asked.body))
      failed.push(`${operation.name} with an option: ${asked.status} ${asked.body?.message}`);
    if (operation.body === null || typeof body !== 'object') continue;
    const sent = await control.call(operation.method, path, { ...body, surprise: 1 }, token);
    if (!names('body', sent.body)) failed.push(`${operation.name} with a member: ${sent.status} ${sent.body?.message}`);
  }
  assert.deepEqual(failed, []);
});
