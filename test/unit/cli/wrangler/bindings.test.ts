// Bindings, schedules and classes of a Wrangler configuration, as platform.yaml has them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { readWrangler } from '#cli/wrangler/read-wrangler.ts';
import { toPlatformYaml } from '#cli/wrangler/to-platform-yaml.ts';

const imported = (text: string, file: string) => toPlatformYaml(readWrangler(text, file));

test('names of bindings stay as they are, as long as a binding can have them', () => {
  const { yaml, notes } = imported(
    JSON.stringify({
      name: 'app',
      kv_namespaces: [{ binding: 'cache' }, { binding: 'myCache' }, { binding: 'my-cache' }, { binding: 'vars' }],
      durable_objects: { bindings: [{ name: 'rooms', class_name: 'Room' }] },
      services: [{ binding: 'auth', service: 'auth' }],
      assets: { directory: 'public', binding: 'files2' },
      queues: { consumers: [{ queue: 'work-items' }] },
    }),
    'wrangler.json',
  );
  assert.equal(
    yaml,
    `name: app
out: public
assets:
  binding: FILES
state:
  cache: cache
  myCache: mycache
  my_cache: my_cache
  VARS: vars
object:
  rooms: Room
service:
  auth: auth
queue:
  WORK_ITEMS: { name: work_items }
`,
  );
  assert.deepEqual(parseProjectConfig(yaml, { file: 'platform.yaml' }).problems, []);
  assert.deepEqual(
    notes.map(({ note }) => note),
    [
      'the binding files2 is named FILES here',
      'the binding my-cache is named my_cache here',
      'the binding vars is named VARS here',
      'the binding work-items is named WORK_ITEMS here',
      'work-items is produced by another worker: here a queue belongs to one project',
    ],
  );
});

test('Workers AI becomes the AI binding', () => {
  const own = imported('{ "name": "app", "ai": { "binding": "AI", "remote": true } }', 'wrangler.json');
  assert.equal(own.yaml, 'name: app\nai: true\n');
  assert.deepEqual(
    own.notes.map(({ key }) => key),
    ['ai', 'ai.remote'],
  );
  const [other] = imported('{ "ai": { "binding": "MODELS" } }', 'wrangler.json').notes;
  assert.deepEqual(other, { key: 'ai.binding', note: 'the binding MODELS is named AI here' });
});

test('a schedule fires on the weekday that it fires on there; one that cannot be said here is named', () => {
  const cron = (text: string) => {
    const { yaml, notes } = imported(JSON.stringify({ name: 'a', triggers: { crons: [text] } }), 'wrangler.json');
    return [/CRON: '(.*)'/.exec(yaml)?.[1] ?? null, ...notes.map(({ note }) => note)];
  };
  const said = (from: string, to: string): (string | null)[] => [
    to,
    `"${from}" is "${to}" here, where 0 is Sunday and 1 Monday`,
  ];
  assert.deepEqual(cron('0 9 * * 2-6'), said('0 9 * * 2-6', '0 9 * * MON-FRI'));
  assert.deepEqual(cron('0 9 * * 1,7'), said('0 9 * * 1,7', '0 9 * * SUN,SAT'));
  assert.deepEqual(cron('0 9 1 7 2-6/2'), said('0 9 1 7 2-6/2', '0 9 1 7 MON-FRI/2'));
  for (const same of ['*/5 * * * *', '0 9 * * MON-WED', '0 9 * * */2', '0 0 1 JUL *'])
    assert.deepEqual(cron(same), [same]);
  for (const [text, why] of [
    ['0 9 L * *', 'it has L, W or #, which are not supported here: check the day in the worker'],
    ['0 9 15W * *', 'it has L, W or #, which are not supported here: check the day in the worker'],
    ['0 9 * * 6L', 'it has L, W or #, which are not supported here: check the day in the worker'],
    ['0 9 * * 2#1', 'it has L, W or #, which are not supported here: check the day in the worker'],
    ['0 9 * *', 'it has 4 fields instead of five'],
  ] as const)
    assert.deepEqual(cron(text), [null, `"${text}" is omitted: ${why}`]);
  assert.match(cron('0 9 * * 0')[1]!, /^"0 9 \* \* 0" is omitted: /);
});

test('a pool names a variable, which has the URL of its server for development', () => {
  const { yaml, variables, notes } = imported(
    JSON.stringify({
      name: 'a',
      hyperdrive: [
        { binding: 'PG', id: '57b7', localConnectionString: 'postgres://me:word@localhost/shop' },
        { binding: 'OTHER', id: '57b8' },
      ],
    }),
    'wrangler.json',
  );
  assert.deepEqual(parseProjectConfig(yaml, { file: 'platform.yaml' }).config?.bindings.hyperdrive, {
    PG: 'PG_URL',
    OTHER: 'OTHER_URL',
  });
  assert.deepEqual(variables, { PG_URL: 'postgres://me:word@localhost/shop' });
  assert.deepEqual(
    notes.map(({ key }) => key),
    ['hyperdrive.id', 'hyperdrive.id'],
  );
});

test('the history of classes becomes what it comes to; what contradicts itself is named', () => {
  const of = (migrations: unknown, classes: readonly string[] = ['Hall']) =>
    imported(
      JSON.stringify({
        name: 'a',
        durable_objects: { bindings: classes.map((name, at) => ({ name: `B${at}`, class_name: name })) },
        migrations,
      }),
      'wrangler.json',
    );
  const { yaml, notes } = of([
    { tag: 'v1', new_classes: ['Room'], new_sqlite_classes: ['Draft', 'Back'] },
    { tag: 'v2', renamed_classes: [{ from: 'Room', to: 'Den' }], deleted_classes: ['Draft', 'Back'] },
    { tag: 'v3', renamed_classes: [{ from: 'Den', to: 'Hall' }], new_classes: ['Back'] },
  ]);
  assert.equal(
    yaml,
    'name: a\nobject:\n  B0: Hall\nobject_classes:\n  renamed: { Room: Den, Den: Hall }\n  deleted: [Draft]\n',
  );
  assert.deepEqual(parseProjectConfig(yaml, { file: 'platform.yaml' }).problems, []);
  assert.deepEqual(notes, [
    { key: 'migrations.new_classes', note: 'no binding of durable_objects has the class Back: omitted' },
  ]);
  const odd = of(
    [
      { tag: 'v1', new_classes: ['Room'] },
      { tag: 'v2', renamed_classes: [{ from: 'Room', to: 'Hall' }, { from: 'Room' }] },
      { tag: 'v3', new_classes: ['Room', 'a: b'] },
      { tag: 'v4', transferred_classes: [{ from: 'Bureau', from_script: 'office', to: 'Desk' }] },
    ],
    ['Hall', 'Room', 'Desk', 'a }\nbuild: x'],
  );
  assert.equal(
    odd.yaml,
    'name: a\nobject:\n  B0: Hall\n  B1: Room\n  B2: Desk\n' +
      'object_classes:\n  received:\n    Desk: { project: office, class: Bureau }\n',
  );
  assert.deepEqual(odd.notes, [
    { key: 'durable_objects.bindings.class_name', note: 'is not the name of a class: omitted' },
    { key: 'migrations.renamed_classes', note: 'has an entry without the names of two classes: omitted' },
    { key: 'migrations.new_classes', note: 'has an entry that is not the name of a class: omitted' },
    {
      key: 'migrations.transferred_classes',
      note: 'deploy this project first, then office with object_classes: { transferred: { Bureau: { project: <this project>, class: Desk } } }',
    },
    {
      key: 'migrations.renamed_classes',
      note: 'omitted: the class Room is renamed to Hall, but a binding of "object" has it',
    },
  ]);
});
