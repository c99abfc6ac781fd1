// What the authorization walk needs: an organization with everything in it, somebody for every role, and a request for
// every operation of the API description.
import { drainKind, sealSecret } from '#control/outbound/subscription.ts';
import { newDeploymentId, newId } from '#control/records/ids.ts';
import { newSecret } from '#control/access/secrets.ts';
import type { Permission } from '#control/access/permissions.ts';
import type { TestControl } from './control.ts';

/** A route of the API description. */
export interface Operation {
  /** Such as `GET /projects/{id}`. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** As declared; undefined: nothing is. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[] | undefined;
  /** Null: open to everybody. */
  readonly permission: Permission | null;
  /** Whether the request names something of an organization: strangers then learn nothing. */
  readonly isAboutOrganization: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: Json | null;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Json;
}

// oxlint-disable-next-line typescript/no-explicit-any -- JSON Schema
type Json = Record<string, any>;

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** Who comes to the walk. */
export const walkers = [
  'nobody',
  'expired',
  'revoked',
  'stranger',
  'other project',
  'viewer',
  'member',
  'admin',
  'owner',
  'owner read',
  'owner deploy',
] as const;
export type Walker = (typeof walkers)[number];

/** An organization with everything in it. */
export interface Scene {
  readonly ids: Readonly<Record<string, string>>;
  readonly names: Readonly<Record<string, string>>;
  tokenOf(walker: Walker): string | null;
  /** Makes everything anew, after something was changed. */
  renew(): Promise<void>;
  audited(): Promise<number>;
}

/** The operations of the API, as its description has them. */
export async function readOperations(control: TestControl): Promise<Operation[]> {
  const { body: document } = await control.call('GET', '/openapi.json');
  const resolve = (schema: Json): Json =>
    schema['$ref'] === undefined
      ? schema
      : resolve(document.components.schemas[schema['$ref'].slice('#/components/schemas/'.length)]);
  const inline = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(inline);
    if (typeof schema !== 'object' || schema === null) return schema;
    const known = resolve(schema as Json);
    return Object.fromEntries(Object.entries(known).map(([key, value]) => [key, inline(value)]));
  };
  return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]): Operation => {
      const content = operation['requestBody']?.content?.['application/json']?.schema;
      const body = content === undefined ? null : (inline(content) as Json);
      const parameters = (inline(operation['parameters'] ?? []) as Parameter[]).filter(
        ({ in: place }) => place !== 'header',
      );
      const [requirement] = operation['security'] ?? [];
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        security: operation['security'],
        permission: (requirement?.token?.[0] ?? null) as Permission | null,
        isAboutOrganization:
          operation['x-subject'] !== undefined ||
          path.includes('{') ||
          /"(?:organizationId|projectId)"/.test(JSON.stringify([parameters, body])),
        parameters,
        body,
      };
    }),
  );
}

/** A request for an operation, about what the scene has. */
export function sampleRequest({ ids, names }: Scene, { method, path, parameters, body }: Operation): Asked {
  const [first = ''] = path.slice(1).split('/');
  const idOf = (name: string): string =>
    (name === 'id' ? ids[firstIds[first] ?? ''] : ids[name.replace(/Id$/, '')]) ?? names[name] ?? 'main';
  if (path === '/deployments/{id}/cancel')
    return { method, path: path.replace('{id}', ids['waiting']!), body: undefined };
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(idOf(name)));
  const query = new URLSearchParams();
  for (const { name, in: place, required, schema } of parameters) {
    if (place !== 'query' || (required !== true && name !== 'projectId')) continue;
    const ofPath = name === 'name' ? names['project'] : name === 'slug' ? names['slug'] : undefined;
    query.set(name, String(ofPath ?? sample(schema, name, ids, names)));
  }
  const text = query.toString();
  return {
    method,
    path: text === '' ? filled : `${filled}?${text}`,
    body: body === null ? undefined : sample(body, '', ids, names),
  };
}

/** What `{id}` is of, by the first word of the path. */
const firstIds: Readonly<Record<string, string>> = {
  orgs: 'org',
  projects: 'project',
  deployments: 'deployment',
  domains: 'domain',
  tokens: 'token',
  invitations: 'invitation',
  repositories: 'repository',
  uploads: 'upload',
  webhooks: 'webhook',
  'deploy-hooks': 'hook',
};

/** A value that a schema takes. */
function sample(schema: Json, name: string, ids: Scene['ids'], names: Scene['names']): unknown {
  if (schema['const'] !== undefined) return schema['const'];
  if (schema['enum'] !== undefined) return schema['enum'][0];
  const known = name.endsWith('Id') ? ids[name.replace(/Id$/, '').replace('organization', 'org')] : undefined;
  if (known !== undefined) return known;
  const [choice] = (schema['anyOf'] ?? schema['oneOf'] ?? []) as Json[];
  if (choice !== undefined) return sample(choice, name, ids, names);
  switch (schema['type']) {
    case 'object': {
      const required = (schema['required'] ?? []) as string[];
      const known = Object.keys(schema['properties'] ?? {});
      // Secrets, which variables are by default, need more.
      const wanted = [
        ...new Set([...(required.length > 0 ? required : known.slice(0, 1)), ...known.filter((key) => key === 'kind')]),
      ];
      return Object.fromEntries(wanted.map((key) => [key, sample(schema['properties']?.[key] ?? {}, key, ids, names)]));
    }
    case 'array':
      return [sample(schema['items'] ?? {}, name, ids, names)];
    case 'integer':
    case 'number':
      return schema['minimum'] ?? 1;
    case 'boolean':
      return true;
    default:
      return names[`new ${name}`] ?? names[name] ?? 'main'.padEnd(schema['minLength'] ?? 0, '0');
  }
}

/** Makes the scene. */
export async function makeScene(control: TestControl): Promise<Scene> {
  const { sql } = control;
  let ids: Record<string, string> = {};
  let names: Record<string, string> = {};
  let tokens: Partial<Record<Walker, string>> = {};
  let count = 0;
  const token = async (accountId: string, scope: string, more: Record<string, string | Date> = {}): Promise<string> => {
    const { secret, hash } = newSecret('plt');
    await sql`INSERT INTO control.token ${sql({ id: newId('token'), hash, hint: 'plt_walk', name: 'walk', account_id: accountId, scope, ...more })}`;
    return secret;
  };
  const project = async (organizationId: string, name: string): Promise<string> => {
    const id = newId('project');
    await sql`INSERT INTO control.project (id, organization_id, name) VALUES (${id}, ${organizationId}, ${name})`;
    return id;
  };
  const deployment = async (
    organizationId: string,
    projectId: string,
    status: string,
    branch: string,
  ): Promise<string> => {
    const id = newDeploymentId();
    await sql`
      INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, commit_sha, source)
      VALUES (${id}, ${projectId}, ${organizationId}, ${status}, 'preview', ${branch}, ${'0'.repeat(40)}, 'push')`;
    return id;
  };
  const renew = async (): Promise<void> => {
    const mark = `w${++count}`;
    const org = await control.organization(`walk-${mark}`);
    const foreign = await control.organization(`foreign-${mark}`);
    const people: Record<string, { accountId: string; token: string }> = {};
    for (const role of ['owner', 'admin', 'member', 'viewer'] as const)
      people[role] = await control.account(`${role}-${mark}`, { [org]: role });
    const spare = await control.account(`spare-${mark}`, { [org]: 'viewer' });
    const stranger = await control.account(`stranger-${mark}`, { [foreign]: 'owner' });
    await project(foreign, `foreign-${mark}`);
    const projectId = await project(org, `walk-${mark}`);
    const otherId = await project(org, `other-${mark}`);
    const repository = newId('repository');
    await sql`
      INSERT INTO control.repository (id, organization_id, source, full_name, url)
      VALUES (${repository}, ${org}, 'remote', 'acme/shop', 'https://git.example.com/acme/shop.git')`;
    await sql`UPDATE control.project SET repository_id = ${repository} WHERE id = ${projectId}`;
    const deploymentId = await deployment(org, projectId, 'failure', 'feature');
    const waiting = await deployment(org, projectId, 'queued', 'waiting');
    await sql`INSERT INTO control.branch (project_id, name) VALUES (${projectId}, 'feature')`;
    ids = {
      org,
      project: projectId,
      deployment: deploymentId,
      waiting,
      installation: '1',
      host: '1',
      repository,
      account: spare.accountId,
    };
    names = {
      slug: `walk-${mark}`,
      project: `walk-${mark}`,
      branch: 'feature',
      'new name': `new-${mark}`,
      'new slug': `new-${mark}`,
      'new hostname': `www.${mark}.example.com`,
      'new url': `https://example.com/${mark}`,
      'new login': `login-${mark}`,
      'new key': 'API_KEY',
      'new sha256': '0'.repeat(64),
      'new source': 'remote',
    };
    const rows: Record<string, string> = {
      variable: newId('variable'),
      domain: newId('domain'),
      invitation: newId('invitation'),
      hook: newId('deployHook'),
      webhook: newId('webhook'),
      token: newId('token'),
      drain: newId('drain'),
      rule: newId('alertRule'),
      channel: newId('alertChannel'),
    };
    Object.assign(ids, rows);
    const made = await control.call(
      'POST',
      `/environment-variables/${projectId}`,
      { key: 'SEEN', value: 'x', kind: 'plaintext' },
      people['owner']!.token,
    );
    ids['variable'] = made.body.id ?? rows['variable'];
    await sql`INSERT INTO control.domain (id, project_id, hostname, verification)
      VALUES (${rows['domain']!}, ${projectId}, ${`${mark}.example.org`}, ${sql.json({ name: 'n', value: 'v' })})`;
    await sql`INSERT INTO control.invitation (id, organization_id, login, role, expires_at)
      VALUES (${rows['invitation']!}, ${org}, ${`invited-${mark}`}, 'viewer', now() + interval '1 day')`;
    await sql`INSERT INTO control.deploy_hook (id, project_id, hash, name, branch)
      VALUES (${rows['hook']!}, ${projectId}, ${newSecret('x').hash}, 'walk', 'main')`;
    await sql`INSERT INTO control.webhook (id, organization_id, url, events, secret)
      VALUES (${rows['webhook']!}, ${org}, 'https://example.com/', ARRAY['deployment.created'], ${Buffer.alloc(8)})`;
    // Nothing is sent there: it is no address that a drain may reach.
    await sql`INSERT INTO control.log_drain (id, project_id, name, kind, target, secret, cursor)
      VALUES (${rows['drain']!}, ${projectId}, 'walk', 'http',
        ${sql.json({ kind: 'http', url: 'https://localhost/', format: 'ndjson', gzip: false, headers: [] })},
        ${sealSecret(control.deps.keys, drainKind, rows['drain']!, JSON.stringify({ headers: {} }))}, 0)`;
    await sql`INSERT INTO control.alert_channel (id, project_id, name, kind, target, secret)
      VALUES (${rows['channel']!}, ${projectId}, 'walk', 'webhook', 'example.com', ${Buffer.alloc(8)})`;
    await sql`INSERT INTO control.alert_rule (id, project_id, name, kind, threshold, clear_below, window_seconds,
        evaluations, quiet_seconds, channels)
      VALUES (${rows['rule']!}, ${projectId}, 'walk', 'error_rate', 5, 4, 300, 2, 900, ARRAY[${rows['channel']!}])`;
    names['channels'] = rows['channel']!;
    await sql`INSERT INTO control.collector (project_id, url, headers, header_names, is_private)
      VALUES (${projectId}, 'https://example.com/', ${Buffer.alloc(8)}, '{}', false)`;
    const announced = await control.call(
      'POST',
      `/projects/${projectId}/uploads`,
      { bytes: 1, sha256: '0'.repeat(64), branch: 'feature' },
      people['owner']!.token,
    );
    ids['upload'] = announced.body.id;
    const owner = people['owner']!.accountId;
    await sql`INSERT INTO control.token (id, hash, hint, name, account_id, organization_id, scope)
      VALUES (${rows['token']!}, ${newSecret('x').hash}, 'plt_', 'bound', ${owner}, ${org}, 'read')`;
    tokens = {
      expired: await token(owner, 'admin', { expires_at: new Date(0) }),
      revoked: await token(owner, 'admin', { revoked_at: new Date(0) }),
      stranger: stranger.token,
      'other project': await token(owner, 'admin', { organization_id: org, project_id: otherId }),
      viewer: people['viewer']!.token,
      member: people['member']!.token,
      admin: people['admin']!.token,
      owner: people['owner']!.token,
      'owner read': await token(owner, 'read'),
      'owner deploy': await token(owner, 'deploy'),
    };
  };
  await renew();
  return {
    get ids() {
      return ids;
    },
    get names() {
      return names;
    },
    tokenOf: (walker) => tokens[walker] ?? null,
    renew,
    async audited() {
      const [row] = await sql<{ count: number }[]>`SELECT count(*)::int FROM control.audit_event`;
      return row!.count;
    },
  };
}
