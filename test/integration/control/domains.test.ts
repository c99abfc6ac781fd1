// Custom domains over time: what proves them, what takes them away, and what of them reaches the route record.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import type { EdgeState } from '#core/edge-state.ts';
import { recheckDueDomains } from '#control/domains/recheck.ts';
import { writeRoute } from '#control/releases/project-routes.ts';
import { newDeploymentId } from '#control/records/ids.ts';
import { readRoute } from '#artifacts/route-records.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';

let control: TestControl;
const projects = new Map<string, string>();
const txt = new Map<string, string[]>();
const cname = new Map<string, string>();
const addresses = new Map<string, string[]>();
let isSilent = false;
let edge: EdgeState | null = null;
const answer = <Value>(value: Value): Promise<Value> =>
  isSilent ? Promise.reject(Object.assign(new Error('away'), { code: 'ETIMEOUT' })) : Promise.resolve(value);

before(async () => {
  control = await startControl({
    addresses: {
      api: 'https://api.platform.example',
      ui: 'https://platform.example',
      domain: 'apps.example',
      domains: ['apps.example', 'apps.other.example'],
      protocol: 'https',
      port: null,
      publicAddresses: ['192.0.2.10', '2001:db8::10'],
      issuesCertificates: true,
    },
    limits: { ...defaultLimits.control, domainGraceMs: 0 },
    names: {
      txt: (name) => answer(txt.get(name) ?? []),
      cname: (name) => answer(cname.has(name) ? [cname.get(name)!] : []),
      addresses: (name) => answer(addresses.get(name) ?? []),
    },
    edgeState: () => edge,
  });
  mkdirSync(path.join(control.deps.folder, 'routes'));
  const rivals = await control.organization('rivals');
  // Of both, so that one token asks for all.
  await control.sql`
    INSERT INTO control.membership (organization_id, account_id, role)
    VALUES (${rivals}, ${control.owner.accountId}, 'owner') ON CONFLICT DO NOTHING`;
  for (const [name, organizationId] of [
    ['shop', control.organizationId],
    ['blog', control.organizationId],
    ['rival', rivals],
  ] as const) {
    const { body } = await control.call('POST', '/projects', { name, organizationId });
    projects.set(name, body.id);
  }
});
after(() => control.close());
beforeEach(() => {
  for (const records of [txt, cname, addresses]) records.clear();
  isSilent = false;
  edge = null;
});

const add = async (project: string, body: object) =>
  control.call('POST', `/projects/${projects.get(project)}/domains`, body);
const added = async (project: string, hostname: string, more: object = {}) => {
  const { status, body } = await add(project, { hostname, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
};
const verify = async (id: string) => (await control.call('POST', `/domains/${id}/verify`)).body;
const read = async (id: string) => (await control.call('GET', `/domains/${id}`)).body;
/** As the next rounds find it. */
async function recheck(id: string, rounds = 1): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await control.sql`UPDATE control.domain SET next_check_at = now() - interval '1 day' WHERE id = ${id}`;
    await recheckDueDomains(control.deps);
  }
}

test('a CNAME to a host of the project proves a domain, over other names too, in a circle or too far it does not', async () => {
  const { id } = await added('shop', 'www.cname.example');
  for (const [links, problem] of [
    [['blog.apps.example'], /its CNAME leads to blog\.apps\.example$/],
    [['a.example', 'www.cname.example'], /lead in a circle: www\.cname\.example$/],
    [['a.example', 'b.example', 'a.example'], /lead in a circle: a\.example$/],
    [[...'abcdefghi'].map((letter) => `${letter}.example`), /over more than 8 names$/],
    [['shop.apps.example.evil.example'], /leads to shop\.apps\.example\.evil\.example$/],
    [['shop.evil.apps.example'], /leads to shop\.evil/],
  ] as const) {
    cname.clear();
    let name = 'www.cname.example';
    for (const link of links) {
      cname.set(name, link);
      name = link;
    }
    const { status, problem: found } = await verify(id);
    assert.equal(status, 'pending_verification');
    assert.match(found, problem);
  }
  cname.clear();
  cname.set('www.cname.example', 'alias.example').set('alias.example', 'shop--main.apps.other.example');
  const { verifiedAt, problem } = await verify(id);
  assert.deepEqual([typeof verifiedAt, problem], ['string', null]);
});

test('a CNAME that another organization has left behind proves nothing; the TXT record does', async () => {
  const first = await added('shop', 'left.example');
  cname.set('left.example', 'shop.apps.example');
  await verify(first.id);
  await control.call('DELETE', `/domains/${first.id}`);
  cname.set('left.example', 'rival.apps.example');
  const second = await added('rival', 'left.example');
  assert.match((await verify(second.id)).problem, /Another organization had left\.example before.*TXT record/);
  txt.set(second.verification.name, [second.verification.value]);
  assert.equal((await verify(second.id)).problem, null);
});

test('a domain that another project has proved is refused, until that one has no proof any more', async () => {
  const first = await added('shop', 'taken.example');
  txt.set(first.verification.name, [first.verification.value]);
  await verify(first.id);
  const second = await added('rival', 'taken.example');
  txt.set(first.verification.name, [first.verification.value, second.verification.value]);
  assert.equal((await control.call('POST', `/domains/${second.id}/verify`)).status, 409);
  txt.set(first.verification.name, [second.verification.value]);
  assert.equal(typeof (await verify(second.id)).verifiedAt, 'string');
  const { status, verifiedAt, problem } = await read(first.id);
  assert.deepEqual([status, verifiedAt, problem], ['error', null, 'Another project has verified this domain']);
});

test('a domain without its proof is lost after the time it has; silent name servers take nothing', async () => {
  const { id, verification } = await added('shop', 'lost.example');
  txt.set(verification.name, [verification.value]);
  await recheck(id);
  assert.equal(typeof (await read(id)).verifiedAt, 'string');
  isSilent = true;
  await recheck(id, 3);
  const silent = await read(id);
  assert.deepEqual(
    [typeof silent.verifiedAt, silent.failingSince, silent.problem],
    ['string', null, 'The name servers did not respond: ETIMEOUT'],
  );
  isSilent = false;
  txt.clear();
  addresses.set('lost.example', ['192.0.2.10']);
  await recheck(id, 3);
  assert.equal((await read(id)).failingSince, null, 'it still leads here');
  addresses.set('lost.example', ['192.0.2.10', '198.51.100.1']);
  await recheck(id);
  const failing = await read(id);
  assert.deepEqual([typeof failing.verifiedAt, typeof failing.failingSince], ['string', 'string']);
  await recheck(id);
  const { status, verifiedAt, problem } = await read(id);
  assert.deepEqual([status, verifiedAt, problem], ['error', null, `There is no TXT record ${verification.name}`]);
});

test('addresses alone prove nothing of a domain that was never proved', async () => {
  const { id } = await added('shop', 'aimed.example');
  addresses.set('aimed.example', ['192.0.2.10']);
  assert.equal((await verify(id)).verifiedAt, null);
});

test('the record names production, branches and redirects; a redirect leads to itself or on and on is refused', async () => {
  const projectId = projects.get('blog')!;
  const id = newDeploymentId();
  await control.sql`
    INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, artifact)
    VALUES (${id}, ${projectId}, ${control.organizationId}, 'success', 'production', 'main', 'push', ${'a'.repeat(64)})`;
  for (const [hostname, more] of [
    ['blog.example', {}],
    ['next.blog.example', { branch: 'next' }],
    ['www.blog.example', { redirectTo: 'blog.example' }],
  ] as const) {
    const made = await added('blog', hostname, more);
    txt.set(made.verification.name, [made.verification.value]);
    await verify(made.id);
  }
  for (const body of [
    { hostname: 'a.example', redirectTo: 'a.example' },
    { hostname: 'a.example', redirectTo: 'www.blog.example' },
    { hostname: 'a.example', redirectTo: 'shop.apps.example' },
    { hostname: 'a.example', branch: 'main', redirectTo: 'blog.example' },
  ])
    assert.equal((await add('blog', body)).status, 422, JSON.stringify(body));
  await writeRoute(control.deps, projectId);
  const { domains, branchDomains, redirects } = readRoute(control.deps.folder, 'blog')!;
  assert.deepEqual(
    { domains, branchDomains, redirects },
    {
      domains: ['blog.example'],
      branchDomains: { 'next.blog.example': 'next' },
      redirects: { 'www.blog.example': 'blog.example' },
    },
  );
});

test('names of other scripts are shown both ways; what is no name, an address, a wildcard or ours is refused', async () => {
  const { hostname, unicode, verification } = await added('shop', 'Straße.Example.');
  assert.deepEqual(
    [hostname, unicode, verification.name],
    ['xn--strae-oqa.example', 'straße.example', '_platform.xn--strae-oqa.example'],
  );
  for (const [given, reason] of [
    ['*.example.com', /wildcard/],
    ['192.0.2.1', /address/],
    ['0x7f.1', /address/],
    ['[::1]', /must be a hostname/],
    ['example.com:443', /must be a hostname/],
    ['example.com/x', /must be a hostname/],
    ['user@example.com', /must be a hostname/],
    ['a_b.example.com', /must be a hostname/],
    ['example', /must be a hostname/],
    ['shop.apps.other.example', /reserved by the platform/],
    ['api.platform.example', /reserved by the platform/],
    ['x.platform.example', /reserved by the platform/],
    ['ａｐｐｓ.example', /reserved by the platform/],
  ] as const) {
    const { status, body } = await add('shop', { hostname: given });
    assert.equal(status, 422, given);
    assert.match(body.message ?? body.error, reason, given);
  }
});

test('DNS records are a CNAME below a domain, and addresses at its top', async () => {
  const { records } = await added('shop', 'www.dns.example');
  assert.deepEqual(records.slice(1), [
    { type: 'CNAME', name: 'www.dns.example', value: 'shop.apps.example', purpose: 'route' },
  ]);
  const apex = await added('shop', 'dns.example');
  assert.deepEqual(
    apex.records.map(({ type, value }: { type: string; value: string }) => [type, value]),
    [
      ['TXT', apex.verification.value],
      ['A', '192.0.2.10'],
      ['AAAA', '2001:db8::10'],
    ],
  );
});

test('the state of a domain is that of its certificate, with the words of the authority', async () => {
  const { id, verification } = await added('shop', 'cert.example');
  txt.set(verification.name, [verification.value]);
  assert.equal((await verify(id)).status, 'issuing');
  const none = { issuer: null, notBefore: null, expiresAt: null, renewsAt: null, problem: null, nextAttemptAt: null };
  const of = (more: object): EdgeState => ({
    version: 1,
    writtenAt: new Date().toISOString(),
    caddy: 'ready',
    certificates: { 'cert.example': { ...none, ...more } },
  });
  edge = of({ problem: 'HTTP 429 rateLimited: too many certificates', nextAttemptAt: '2099-01-01T00:00:00.000Z' });
  const limited = await read(id);
  assert.deepEqual([limited.status, limited.problem], ['error', 'HTTP 429 rateLimited: too many certificates']);
  edge = of({ issuer: 'Test', expiresAt: '2099-01-01T00:00:00.000Z', problem: 'not renewed' });
  const late = await read(id);
  assert.deepEqual([late.status, late.problem, late.certificate.issuer], ['active', 'not renewed', 'Test']);
});
