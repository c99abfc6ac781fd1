// Which host leads to which deployment.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteRecord } from '#core/manifest.ts';
import { branchSlug } from '#core/names.ts';
import { createRouteTable } from '#runtime/engine/router/route-table.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

const artifact = 'a'.repeat(64);

function record(project: string, more: Partial<RouteRecord> = {}): RouteRecord {
  const deployment = (id: string, branch: string) => ({ id, artifact, branch, createdAt: '2026-11-21T00:00:00Z' });
  return {
    version: 1,
    project,
    plan: 'free',
    vars: {},
    domains: [],
    production: 'd000000000001',
    branches: { main: 'd000000000001', 'Feature/X': 'd000000000002' },
    deployments: {
      d000000000001: deployment('d000000000001', 'main'),
      d000000000002: deployment('d000000000002', 'Feature/X'),
    },
    ...more,
  };
}

test('a project answers on its name, its branches, its deployments and its custom hosts', () => {
  const table = createRouteTable(['localhost', 'example.org']);
  assert.deepEqual(table.replace([record('shop', { domains: ['shop.example.com'] })]).conflicts, []);
  const deploymentOn = (host: string): string | undefined => table.find(host)?.deployment;
  assert.equal(deploymentOn('shop.localhost'), 'd000000000001');
  assert.equal(deploymentOn('shop.example.org'), 'd000000000001');
  assert.equal(deploymentOn('shop--main.localhost'), 'd000000000001');
  assert.equal(deploymentOn(`shop--${branchSlug('Feature/X', 'shop')}.localhost`), 'd000000000002');
  assert.equal(deploymentOn('shop--d000000000002.localhost'), 'd000000000002');
  assert.equal(deploymentOn('shop.example.com'), 'd000000000001');
});

test('a port and a dot at the end of a host do not matter', () => {
  const table = createRouteTable(['localhost']);
  table.replace([record('shop')]);
  for (const host of ['shop.localhost:4001', 'shop.localhost.', 'shop.localhost.:4001'])
    assert.equal(table.find(host)?.project, 'shop');
});

test('an unknown host, the bare domain and names of Object.prototype lead nowhere', () => {
  const table = createRouteTable(['localhost']);
  table.replace([record('shop')]);
  for (const host of [
    '',
    'localhost',
    'other.localhost',
    'shop.example.org',
    'x.shop.localhost',
    '__proto__',
    'constructor',
    '[::1]:80',
  ]) {
    assert.equal(table.find(host), null);
  }
});

test('a route carries plan, variables, branch and artifact', () => {
  const table = createRouteTable(['localhost']);
  table.replace([record('shop', { plan: 'pro', vars: { A: '1' } })]);
  assert.deepEqual(table.find('shop.localhost'), {
    project: 'shop',
    deployment: 'd000000000001',
    artifact,
    plan: 'pro',
    vars: { A: '1' },
    branch: 'main',
    preview: null,
  });
});

test('a route stays the same object while nothing of it changes, and only then', () => {
  const table = createRouteTable(['localhost']);
  table.replace([record('shop')]);
  const before = table.find('shop.localhost');
  assert.equal(table.find('shop--main.localhost'), before);
  table.replace([record('shop', { domains: ['a.example.com'] }), record('blog')]);
  assert.equal(table.find('shop.localhost'), before);
  table.replace([record('shop', { vars: { A: '2' } })]);
  assert.notEqual(table.find('shop.localhost'), before);
});

test('a custom host that two projects claim goes to the name that sorts first, whatever the order', () => {
  for (const records of [
    [record('alpha', { domains: ['x.example.com'] }), record('beta', { domains: ['x.example.com'] })],
    [record('beta', { domains: ['x.example.com'] }), record('alpha', { domains: ['x.example.com'] })],
  ]) {
    const table = createRouteTable(['localhost']);
    assert.deepEqual(table.replace(records).conflicts, [{ host: 'x.example.com', project: 'beta', other: 'alpha' }]);
    assert.equal(table.find('x.example.com')?.project, 'alpha');
  }
});

test('no project can claim a host of the platform, taken or not', () => {
  const table = createRouteTable(['localhost']);
  const { conflicts } = table.replace([
    record('alpha', { domains: ['zeta.localhost', 'free.localhost', 'localhost'] }),
    record('zeta'),
  ]);
  assert.deepEqual(
    conflicts,
    ['zeta.localhost', 'free.localhost', 'localhost'].map((host) => ({
      host,
      project: 'alpha',
      other: 'the platform',
    })),
  );
  assert.equal(table.find('zeta.localhost')?.project, 'zeta');
  assert.equal(table.find('free.localhost'), null);
});

test('a project without production answers only on branches and deployments', () => {
  const table = createRouteTable(['localhost']);
  table.replace([record('shop', { production: null, domains: ['shop.example.com'] })]);
  assert.equal(table.find('shop.localhost'), null);
  assert.equal(table.find('shop.example.com'), null);
  assert.equal(table.find('shop--main.localhost')?.deployment, 'd000000000001');
});

test('a custom host of a branch leads to that branch as its own host does, and behind the same gate', () => {
  const table = createRouteTable(['localhost']);
  table.replace([
    record('shop', {
      branchDomains: { 'main.example.com': 'main', 'x.example.com': 'Feature/X', 'y.example.com': 'gone' },
    }),
  ]);
  assert.deepEqual(table.match('x.example.com'), table.match(`shop--${branchSlug('Feature/X', 'shop')}.localhost`));
  assert.equal(table.match('x.example.com')?.gate?.isPreview, true);
  assert.deepEqual(table.match('main.example.com'), {
    route: table.find('shop.localhost'),
    gate: null,
    others: [],
  });
  assert.equal(table.match('y.example.com'), null);
});

test('a custom host that sends on leads to where it says, also while nothing is production', () => {
  const table = createRouteTable(['localhost']);
  const redirects = {
    'www.example.com': 'example.com',
    'shop.localhost': 'example.com',
    'a.example.com': 'b.example.com',
  };
  const { conflicts } = table.replace([
    record('shop', { production: null, domains: ['example.com'], redirects }),
    record('alpha', { domains: ['a.example.com'] }),
  ]);
  assert.equal(table.match('www.example.com')?.gate?.redirectTo, 'example.com');
  assert.equal(table.match('a.example.com')?.gate, null);
  assert.deepEqual(conflicts, [
    { host: 'shop.localhost', project: 'shop', other: 'the platform' },
    { host: 'a.example.com', project: 'shop', other: 'alpha' },
  ]);
});

test('a host remembers whom it led to: production those of its history, a branch those of the branch', () => {
  const table = createRouteTable(['localhost']);
  const at = (second: number): string => `2026-11-21T00:00:0${second}.000Z`;
  const made = (n: number, branch: string, more: object = {}) => ({
    [`d00000000000${n}`]: { id: `d00000000000${n}`, artifact, branch, createdAt: at(0), ...more },
  });
  const deployments = {
    ...made(1, 'main'),
    ...made(2, 'main', { supersededAt: at(2) }),
    ...made(3, 'main', { supersededAt: at(3) }),
    // Never production: on its own branch's host it may be asked for, on production's it may not.
    ...made(4, 'main', { supersededAt: at(4) }),
    ...made(5, 'talk'),
    ...made(6, 'talk', { supersededAt: at(5) }),
    // Promoted once; a preview with data of its own again.
    ...made(7, 'other', { supersededAt: at(6) }),
    // A record from before says no time.
    ...made(8, 'main'),
  };
  const productionHistory = ['d000000000002', 'd000000000003', 'd000000000007', 'd000000000008'];
  const branches = { main: 'd000000000001', talk: 'd000000000005' };
  const others = (host: string): string[] | undefined =>
    table.match(host)?.others?.map(({ route, supersededAt }) => `${route.deployment.at(-1)} ${supersededAt}`);
  const of = (n: number, second: number): string => `${n} ${Date.parse(at(second))}`;
  const shop = record('shop', { domains: ['shop.example.com'], branches, deployments, productionHistory });
  table.replace([shop]);
  for (const host of ['shop.localhost', 'shop.example.com', 'shop--main.localhost'])
    assert.deepEqual(others(host), [of(3, 3), of(2, 2)], host);
  assert.deepEqual(others('shop--talk.localhost'), [of(6, 5)]);
  for (const id of ['d000000000001', 'd000000000006']) assert.equal(table.match(`shop--${id}.localhost`)?.others, null);

  table.replace([{ ...shop, split: { deployment: 'd000000000003', percent: 10 } }]);
  assert.deepEqual(others('shop.localhost'), ['1 Infinity', '3 Infinity', of(2, 2)]);
});

test('a change of one project says which of its routes are there and which are gone, and leaves the others', () => {
  const table = createRouteTable(['localhost']);
  table.replace([record('shop'), record('blog')]);
  const [production, branch] = table.routesOf('shop');
  const blog = table.find('blog.localhost');
  assert.equal(table.size, 4);

  const { deployments } = record('shop');
  const one = record('shop', {
    branches: { main: 'd000000000001' },
    deployments: { d000000000001: deployments['d000000000001']! },
  });
  assert.deepEqual(table.change([{ project: 'shop', record: one }]), {
    current: [production],
    gone: [branch],
    conflicts: [],
  });
  assert.equal(table.find('shop.localhost'), production);
  assert.equal(table.find('shop--d000000000002.localhost'), null);
  assert.equal(table.find(`shop--${branchSlug('Feature/X', 'shop')}.localhost`), null);
  assert.equal(table.find('blog.localhost'), blog);
  // The other project has a deployment of the same id.
  assert.equal(table.findDeployment('d000000000002')?.project, 'blog');

  assert.deepEqual(table.change([{ project: 'shop', record: null }]).gone, [production]);
  assert.equal(table.find('shop.localhost'), null);
  assert.equal(table.findDeployment('d000000000001')?.project, 'blog');
  assert.deepEqual(table.change([{ project: 'shop', record: null }]), { current: [], gone: [], conflicts: [] });
  assert.equal(table.size, 2);
});

test('a custom host goes to whoever claims it next when its owner leaves it or is gone', () => {
  const table = createRouteTable(['localhost']);
  const claim = (project: string) => ({ project, record: record(project, { domains: ['x.example.com'] }) });
  const owner = (): string | undefined => table.find('x.example.com')?.project;
  const lost = (...projects: string[]) =>
    projects.map((project) => ({ host: 'x.example.com', project, other: 'alpha' }));
  assert.deepEqual(table.change([claim('gamma')]).conflicts, []);
  assert.deepEqual(table.change([claim('beta')]).conflicts, [
    { host: 'x.example.com', project: 'gamma', other: 'beta' },
  ]);
  assert.deepEqual(table.change([claim('alpha')]).conflicts, lost('beta', 'gamma'));
  assert.equal(owner(), 'alpha');
  table.change([{ project: 'alpha', record: record('alpha') }]);
  assert.equal(owner(), 'beta');
  table.change([{ project: 'beta', record: null }]);
  assert.equal(owner(), 'gamma');
  table.change([{ project: 'gamma', record: null }]);
  assert.equal(owner(), undefined);
});

test('a table that was changed by project, many times over, answers as one that is made at once', () => {
  const random = createSeededRandom();
  const names = ['alpha', 'beta', 'gamma', 'delta'];
  const customs = ['a.example.com', 'b.example.com', 'shop.localhost', 'alpha.localhost'];
  const ids = ['d000000000001', 'd000000000002', 'd000000000003'];
  const current = new Map<string, RouteRecord>();
  const changed = createRouteTable(['localhost']);
  for (let round = 0; round < fuzzRounds(30); round++) {
    const project = random.pick(names);
    const deployments = Object.fromEntries(
      ids
        .filter(() => random.below(3) > 0)
        .map((id) => [id, { id, artifact, branch: random.pick(['main', 'talk']), createdAt: '2026-11-21T00:00:00Z' }]),
    );
    const there = Object.keys(deployments);
    const next =
      random.below(5) === 0
        ? null
        : record(project, {
            deployments,
            production: there.length > 0 && random.below(4) > 0 ? random.pick(there) : null,
            branches: there.length > 0 ? { main: random.pick(there) } : {},
            domains: customs.filter(() => random.below(3) === 0),
            redirects: random.below(4) === 0 ? { 'c.example.com': 'a.example.com' } : {},
          });
    if (next === null) current.delete(project);
    else current.set(project, next);
    changed.change([{ project, record: next }]);
    const whole = createRouteTable(['localhost']);
    whole.replace([...current.values()]);
    const labels = names.flatMap((name) => [name, `${name}--main`, ...ids.map((id) => `${name}--${id}`)]);
    for (const host of [...labels.map((label) => `${label}.localhost`), ...customs, 'c.example.com'])
      assert.deepEqual(changed.match(host), whole.match(host), `seed ${random.seed}, round ${round}: ${host}`);
    const byName = (a: { project: string; deployment: string }, b: typeof a): number =>
      `${a.project} ${a.deployment}` < `${b.project} ${b.deployment}` ? -1 : 1;
    assert.deepEqual([...changed.routes()].toSorted(byName), [...whole.routes()].toSorted(byName));
    for (const id of ids) assert.equal(changed.findDeployment(id) === null, whole.findDeployment(id) === null);
    assert.equal(changed.size, [...changed.routes()].length);
  }
});
