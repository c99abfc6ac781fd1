// Other organizations' ids, in every field of a body or a query that names a thing by its id: they are unknown, and
// find nothing. Ids in paths are walked by the authorization walk.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { makeScene, readOperations, sampleRequest, type Scene } from '#test/setup/control-walk.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- JSON Schema
type Json = Record<string, any>;

let control: TestControl;
let scene: Scene;
before(async () => {
  control = await startControl({ limits: { ...defaultLimits.control, requestsPerMinute: 1_000_000 } });
  scene = await makeScene(control);
});
after(() => control.close());

/** Fields of bodies and queries that refer to a record by its id, which must be the caller's. */
const isId = (name: string, schema: Json): boolean =>
  /Ids?$|^channels$/.test(name) ||
  [ID_PATTERN, DEPLOYMENT_PATTERN].includes((schema['items']?.['pattern'] ?? schema['pattern']) as string);
const ID_PATTERN = '^[A-Za-z0-9_]+$';
const DEPLOYMENT_PATTERN = '^d[0-9a-z]{12}$';

/** Ids that are not of records of the platform. */
const others: Readonly<Record<string, string>> = {
  installationId: 'of the Git host, which checks that the caller owns it',
  hostId: 'of the Git host, which checks that the caller owns it',
  traceId: 'finds lines of the project in the path',
  dedupeId: 'what a worker calls a message',
  processId: 'of the sandbox in the path',
  clientId: 'of the application at the Git host',
  runId: 'finds calls of the organization in the path',
};

/** Routes that refuse the request before they look at the id. */
const refusedBefore: Readonly<Record<string, number>> = {
  // There is no earlier production.
  'POST /projects/{id}/rollback': 409,
  // The request does not accept an event stream.
  'GET /projects/{id}/logs/stream': 400,
};

test("another organization's ids in bodies and queries are unknown, and find nothing", async (t) => {
  const foreign: Readonly<Record<string, string | undefined>> = { ...scene.ids, channels: scene.names['channels'] };
  await scene.renew();
  const failed: string[] = [];
  const tried: string[] = [];
  for (const operation of await readOperations(control)) {
    const properties = Object.entries<Json>(
      (operation.body?.['anyOf'] ?? [operation.body])
        .map((body: Json | null) => body?.['properties'] ?? {})
        .reduce((one: Json, other: Json) => ({ ...one, ...other }), {}),
    );
    const asked = operation.parameters.filter(({ in: place }) => place === 'query');
    const fields = [
      ...properties.map(([name, schema]) => ({ name, schema, isQuery: false })),
      ...asked.map(({ name, schema }) => ({ name, schema: schema as Json, isQuery: true })),
    ].filter(({ name, schema }) => isId(name, schema) && others[name] === undefined);
    for (const { name, schema, isQuery } of fields) {
      const id =
        name === 'channels' ? foreign['channels'] : foreign[name.replace(/Id$/, '').replace('organization', 'org')];
      assert.notEqual(id, undefined, `${operation.name}: the scene has no ${name}`);
      const sample = sampleRequest(scene, operation);
      const url = new URL(sample.path, 'http://api');
      if (isQuery) url.searchParams.set(name, id!);
      const body = isQuery
        ? sample.body
        : { ...(sample.body as object), [name]: schema['type'] === 'array' ? [id] : id };
      const token = scene.tokenOf('owner');
      const { status, body: answer } = await control.call(
        operation.method,
        `${url.pathname}${url.search}`,
        body,
        token,
      );
      tried.push(`${operation.name} ${name}: ${status}`);
      // The response may repeat the parameter itself.
      const found = JSON.stringify({ ...answer, [name]: undefined });
      const foundNothing = isQuery && status === 200 && !found.includes(id!);
      const isRefused =
        status === 404 ||
        (status === 422 && /must be a member/.test(answer.message)) ||
        status === 403 ||
        status === refusedBefore[operation.name];
      if (!isRefused && !foundNothing) failed.push(`${operation.name} with another's ${name}: ${status}`);
      if (status < 300 && operation.method !== 'GET') await scene.renew();
    }
  }
  t.diagnostic(tried.join('\n'));
  assert.deepEqual(failed, []);
  assert.ok(tried.length >= 20, `only ${tried.length} fields were found`);
});
