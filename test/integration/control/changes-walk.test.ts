// Every PATCH and PUT route of the API: each field of its body, by each role, on each kind of row. A row's state can
// decide who may change it: a drain with a private target, a secret, the owner of an organization. A field that is
// missing from this table fails the test.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '#control/records/ids.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { readOperations } from '#test/setup/control-walk.ts';

/** The weakest role that is allowed; a number: the status with which every role is refused. */
type By = 'member' | 'admin' | 'operator' | 400 | 404 | 409 | 422;

/** One change of one field, on each kind of row. */
interface Change {
  readonly body: Readonly<Record<string, unknown>>;
  readonly by: By | Readonly<Record<string, By>>;
}

interface Route {
  /** Makes a row of each kind. @returns the path to it. */
  readonly rows: Readonly<Record<string, () => Promise<string>>>;
  /** What a body has to hold beside the change. */
  readonly beside?: Readonly<Record<string, unknown>>;
  readonly changes: readonly Change[];
}

/** Covered by the authorization walk: they change data of a binding, which has no kinds of rows. */
const dataOfBindings = /^PUT \/(?:uploads\/|projects\/\{id\}\/(?:databases|sandboxes|state|files|timers)\/)/;

const walkers = ['stranger', 'viewer', 'member', 'admin', 'owner', 'operator'] as const;

let control: TestControl;
let org: string;
let project: string;
const tokens: Record<string, string> = {};
const accounts: Record<string, string> = {};
before(async () => {
  control = await startControl();
  org = control.organizationId;
  const make = await control.call('POST', '/projects', { name: 'shop', organizationId: org });
  project = make.body.id;
  tokens['owner'] = control.owner.token;
  accounts['owner'] = control.owner.accountId;
  for (const role of ['admin', 'member', 'viewer'] as const) {
    const made = await control.account(role, { [org]: role });
    tokens[role] = made.token;
    accounts[role] = made.accountId;
  }
  const operator = await control.account('operator', { [org]: 'admin' });
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${operator.accountId}`;
  tokens['operator'] = operator.token;
  tokens['stranger'] = (await control.account('stranger', { [await control.organization('other')]: 'owner' })).token;
});
after(() => control.close());

/** Makes something as the operator. @returns its id */
async function made(path: string, body: object): Promise<string> {
  const answer = await control.call('POST', path, body, tokens['operator']);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

const PUBLIC = 'https://logs.example.com/in';
const PRIVATE = 'http://127.0.0.1:4002/';
const target = (url: string) => ({ kind: 'http', url });
const drain = (isPrivate: boolean) => async () => {
  await control.sql`DELETE FROM control.log_drain`;
  const allowed = isPrivate ? { allowPrivate: true } : {};
  const body = { name: 'all', target: target(isPrivate ? PRIVATE : PUBLIC), ...allowed };
  return `/projects/${project}/drains/${await made(`/projects/${project}/drains`, body)}`;
};
const webhook = (isPrivate: boolean) => async () => {
  await control.sql`DELETE FROM control.webhook`;
  const allowed = isPrivate ? { allowPrivate: true } : {};
  const body = { url: isPrivate ? PRIVATE : PUBLIC, events: ['deployment.created'], ...allowed };
  return `/orgs/${org}/webhooks/${await made(`/orgs/${org}/webhooks`, body)}`;
};
const collector = (isPrivate: boolean) => async () => {
  await control.sql`
    INSERT INTO control.collector (project_id, url, headers, header_names, is_private)
    VALUES (${project}, ${isPrivate ? PRIVATE : PUBLIC}, ${Buffer.alloc(8)}, '{}', ${isPrivate})
    ON CONFLICT (project_id) DO UPDATE SET is_private = excluded.is_private`;
  return `/projects/${project}/collector`;
};
const variable = (kind: 'plaintext' | 'secret') => async () => {
  const at = `/environment-variables/${project}`;
  return `${at}/${await made(at, { key: `K${newId('variable').slice(4)}`, value: 'x', kind })}`;
};
const member = (role: 'viewer' | 'admin' | 'owner') => async () => {
  if (role === 'owner') return `/orgs/${org}/members/${accounts['owner']}`;
  const { accountId } = await control.account(newId('account'), { [org]: role });
  return `/orgs/${org}/members/${accountId}`;
};
const host = async () => {
  const id = newId('gitHost');
  await control.sql`
    INSERT INTO control.git_host (id, kind, name, url, webhook_secret)
    VALUES (${id}, 'gitea', ${id}, ${`https://${id.toLowerCase().replaceAll('_', '-')}.example.com`}, ${Buffer.alloc(8)})`;
  return `/git-hosts/${id}/oauth`;
};
const remote = async () => {
  const id = newId('repository');
  await control.sql`
    INSERT INTO control.repository (id, organization_id, source, full_name, url)
    VALUES (${id}, ${org}, 'remote', ${id}, ${`https://git.example.com/${id}.git`})`;
  return `/repositories/${id}/remote`;
};
const rule = { name: 'r', kind: 'error_rate', channels: [] };
const ruleFields = [
  { body: { name: 'other' }, by: 'admin' },
  { body: { threshold: 50 }, by: 'admin' },
  { body: { clearBelow: 0.1 }, by: 'admin' },
  { body: { windowMinutes: 9 }, by: 'admin' },
  { body: { evaluations: 3 }, by: 'admin' },
  { body: { quietMinutes: 9 }, by: 'admin' },
  { body: { channels: [] }, by: 'admin' },
  { body: { enabled: false }, by: 'admin' },
] as const;
const all = (changes: readonly object[], by: By): Change[] => changes.map((body) => ({ body: { ...body }, by }));

const routes: Readonly<Record<string, Route>> = {
  'PATCH /orgs/{id}': {
    rows: { organization: async () => `/orgs/${org}` },
    changes: all([{ name: 'Acme' }, { slug: 'acme-2' }, { buildMachine: 'large' }], 'admin'),
  },
  'PATCH /orgs/{id}/members/{accountId}': {
    rows: { viewer: member('viewer'), admin: member('admin'), owner: member('owner') },
    changes: [
      { body: { role: 'viewer' }, by: { viewer: 'admin', admin: 'admin', owner: 409 } },
      { body: { role: 'owner' }, by: 400 },
    ],
  },
  'PATCH /projects/{id}': {
    rows: { project: async () => `/projects/${project}` },
    changes: all(
      [
        { description: 'd' },
        { visibility: 'public' },
        { defaultBranch: 'main' },
        { configPath: 'apps/shop' },
        { buildCommand: 'make' },
        { outputDirectory: 'out' },
        { installCommand: 'make deps' },
        { redeployOnVariables: false },
        { keepDeployments: 5 },
        { release: { steps: [10, 100], minutes: 1 } },
        { previewPassword: 'long enough' },
      ],
      'member',
    ),
  },
  'PATCH /projects/{id}/drains/{drainId}': {
    rows: { public: drain(false), private: drain(true) },
    changes: [
      ...all(
        [{ name: 'other' }, { level: 'warn' }, { kinds: ['http'] }, { branch: 'main' }, { enabled: true }],
        'admin',
      ),
      { body: { target: target(PUBLIC) }, by: { public: 'admin', private: 'operator' } },
      { body: { target: target('http://127.0.0.1:5432/') }, by: { public: 400, private: 'operator' } },
      {
        body: {
          target: {
            kind: 's3',
            endpoint: PRIVATE,
            bucket: 'logs',
            region: 'x',
            accessKeyId: 'k',
            secretAccessKey: 's',
          },
        },
        by: { public: 400, private: 'operator' },
      },
    ],
  },
  'PATCH /orgs/{id}/webhooks/{webhookId}': {
    rows: { public: webhook(false), private: webhook(true) },
    changes: all([{ enabled: false }, { events: ['deployment.created'] }], 'admin'),
  },
  'PATCH /projects/{id}/alert-rules/{ruleId}': {
    rows: {
      own: async () => `/projects/${project}/alert-rules/${await made(`/projects/${project}/alert-rules`, rule)}`,
      operators: async () =>
        `/projects/${project}/alert-rules/${await made('/operator/alert-rules', { ...rule, kind: 'disk' })}`,
    },
    changes: ruleFields.map(({ body, by }) => ({ body: { ...body }, by: { own: by, operators: 404 } })),
  },
  'PATCH /operator/alert-rules/{ruleId}': {
    rows: {
      operators: async () => `/operator/alert-rules/${await made('/operator/alert-rules', { ...rule, kind: 'disk' })}`,
      projects: async () => `/operator/alert-rules/${await made(`/projects/${project}/alert-rules`, rule)}`,
    },
    changes: ruleFields.map(({ body }) => ({ body: { ...body }, by: { operators: 'operator', projects: 404 } })),
  },
  'PATCH /environment-variables/{projectId}/{variableId}': {
    rows: { plaintext: variable('plaintext'), secret: variable('secret') },
    changes: [
      { body: { value: 'y' }, by: { plaintext: 'member', secret: 'admin' } },
      { body: { kind: 'plaintext' }, by: { plaintext: 'member', secret: 422 } },
      { body: { kind: 'plaintext', value: 'z' }, by: { plaintext: 'member', secret: 'admin' } },
      { body: { kind: 'secret' }, by: 'admin' },
    ],
  },
  'PUT /projects/{id}/collector': {
    rows: { public: collector(false), private: collector(true) },
    beside: { url: PUBLIC },
    changes: [
      ...all([{ url: 'https://other.example.com/' }, { headers: { authorization: 'x' } }], 'admin'),
      { body: { url: PRIVATE }, by: 400 },
      { body: { url: PRIVATE, allowPrivate: true }, by: 'operator' },
    ],
  },
  'PUT /orgs/{id}/ai/providers/{name}': {
    rows: { provider: async () => `/orgs/${org}/ai/providers/own` },
    beside: { kind: 'openai', url: 'https://models.example.com/v1' },
    changes: [
      ...all(
        [{ kind: 'openai' }, { key: 'k' }, { models: ['m'] }, { enabled: false }, { url: 'https://b.example.com' }],
        'admin',
      ),
      { body: { url: PRIVATE }, by: 400 },
    ],
  },
  'PUT /orgs/{id}/ai': {
    rows: { organization: async () => `/orgs/${org}/ai` },
    beside: { aliases: {}, auto: [], limits: [] },
    changes: all([{ aliases: { small: 'mock/echo' } }, { auto: ['mock/echo'] }, { limits: [] }], 'admin'),
  },
  'PUT /projects/{id}/ai': {
    rows: { project: async () => `/projects/${project}/ai` },
    changes: all([{ limits: [] }], 'admin'),
  },
  'PUT /orgs/{id}/plan': {
    rows: { organization: async () => `/orgs/${org}/plan` },
    changes: all([{ plan: 'pro' }], 'operator'),
  },
  'PUT /git-hosts/{hostId}/oauth': {
    rows: { host },
    beside: { clientId: 'platform', clientSecret: 'secret-of-the-application' },
    changes: all([{ clientId: 'other' }, { clientSecret: 'other-secret-of-it' }], 'operator'),
  },
  'PATCH /repositories/{id}/remote': {
    rows: { remote },
    changes: all([{ pollSeconds: 600 }], 'member'),
  },
  'PATCH /operator/settings': {
    rows: { settings: () => Promise.resolve('/operator/settings') },
    changes: all(
      [
        { SIGN_UP: 'open' },
        { SIGN_IN: 'password' },
        { MAIL_FROM: 'platform@example.com' },
        { AUTH_MAIL_URL: 'https://hooks.example.com/' },
      ],
      'operator',
    ),
  },
};

const may: Readonly<Record<'member' | 'admin' | 'operator', readonly string[]>> = {
  member: ['member', 'admin', 'owner', 'operator'],
  admin: ['admin', 'owner', 'operator'],
  operator: ['operator'],
};

/** All rows that a change could reach, so that a refusal can be seen to change none. */
async function kept(): Promise<string> {
  const tables = [
    'organization',
    'membership',
    'project',
    'log_drain',
    'webhook',
    'alert_rule',
    'variable',
    'collector',
    'ai_provider',
    'ai_settings',
    'git_host',
    'repository',
  ];
  const found = await Promise.all(
    tables.map((table) => control.sql`SELECT to_jsonb(t) AS row FROM ${control.sql(`control.${table}`)} t ORDER BY 1`),
  );
  return JSON.stringify(found);
}

test('each field is changed only by allowed roles, given the kind of row', async (t) => {
  const operations = (await readOperations(control)).filter(
    ({ method, name }) => (method === 'PATCH' || method === 'PUT') && !dataOfBindings.test(name),
  );
  const holes: string[] = [];
  const table: string[] = [];
  for (const { name, method, body } of operations) {
    const route = routes[name];
    const fields = Object.keys(body?.['properties'] ?? {});
    const known = new Set(route?.changes.flatMap((change) => Object.keys(change.body)));
    for (const field of fields) if (!known.has(field)) holes.push(`${name}: nothing is said of ${field}`);
    if (route === undefined) continue;
    for (const [kind, make] of Object.entries(route.rows))
      for (const change of route.changes) {
        const by = typeof change.by === 'object' ? change.by[kind]! : change.by;
        const verdicts: string[] = [];
        const path = await make();
        for (const walker of walkers) {
          const before = await kept();
          const { status } = await control.call(method, path, { ...route.beside, ...change.body }, tokens[walker]);
          verdicts.push(String(status));
          const isRight =
            typeof by === 'number'
              ? // Missing permissions are checked first.
                status === by || status === 403 || (status === 404 && walker === 'stranger')
              : may[by].includes(walker)
                ? status === 200 || status === 204
                : status === 403 || (status === 404 && walker === 'stranger');
          const says = `${name} of ${kind} ${JSON.stringify(change.body)} as ${walker}: ${status}`;
          if (!isRight) holes.push(`${says}, expected ${by}`);
          if (status >= 400 && (await kept()) !== before) holes.push(`${says}, and a row has changed`);
        }
        const what = `${name} ${kind} ${Object.keys(change.body).join('+')}`;
        table.push(`${what.padEnd(76)} ${String(by).padEnd(9)} ${verdicts.join(' ')}`);
      }
  }
  t.diagnostic(`\n${'route, row, field'.padEnd(76)} ${'by'.padEnd(9)} ${walkers.join(' ')}\n${table.join('\n')}`);
  assert.deepEqual(holes, []);
});
