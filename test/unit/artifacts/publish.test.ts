// Publishing into a data folder: what is written, what stays, and two at once.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { publish, type Publication } from '#artifacts/publish.ts';
import { readRoutes } from '#artifacts/route-records.ts';
import type { RouteRecord } from '#core/manifest.ts';

const artifactA = 'a'.repeat(64);
const artifactB = 'b'.repeat(64);

interface Place {
  readonly dataFolder: string;
  readonly artifactFolder: string;
}

function place(t: TestContext): Place {
  const folder = mkdtempSync(path.join(tmpdir(), 'publish-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const artifactFolder = path.join(folder, 'built');
  mkdirSync(path.join(artifactFolder, 'assets'), { recursive: true });
  writeFileSync(path.join(artifactFolder, 'manifest.json'), '{}');
  writeFileSync(path.join(artifactFolder, 'assets', 'a.txt'), 'A');
  return { dataFolder: path.join(folder, 'state'), artifactFolder };
}

function publication(at: Place, change: Partial<Publication> = {}): Publication {
  return { ...at, project: 'shop', branch: 'main', production: true, artifactId: artifactA, ...change };
}

function routeOf(at: Place, project = 'shop'): RouteRecord {
  return JSON.parse(readFileSync(path.join(at.dataFolder, 'routes', `${project}.json`), 'utf8')) as RouteRecord;
}

test('the first deployment of a project writes artifact and route, which only its owner may read', (t) => {
  const at = place(t);
  const { deployment, changed } = publish(publication(at, { vars: { A: '1' } }));
  assert.equal(changed, true);
  assert.match(deployment.id, /^d[0-9a-z]{12}$/);
  assert.deepEqual(routeOf(at), {
    version: 1,
    project: 'shop',
    plan: 'free',
    vars: { A: '1' },
    domains: [],
    production: deployment.id,
    branches: { main: deployment.id },
    deployments: { [deployment.id]: deployment },
  });
  assert.equal(statSync(path.join(at.dataFolder, 'routes/shop.json')).mode & 0o777, 0o600);
  assert.equal(readFileSync(path.join(at.dataFolder, 'artifacts', artifactA, 'assets', 'a.txt'), 'utf8'), 'A');
});

test('what is written is for its owner alone, whatever the umask', (t) => {
  const at = place(t);
  const before = process.umask(0);
  t.after(() => process.umask(before));
  publish(publication(at, { vars: { SECRET: 'x' } }));
  const modes = ['', 'routes', 'routes/shop.json', 'artifacts', 'locks'].map((name) =>
    (statSync(path.join(at.dataFolder, name)).mode & 0o777).toString(8),
  );
  assert.deepEqual(modes, ['755', '700', '600', '700', '700']);
});

test('a first deployment that is a preview makes no production', (t) => {
  const at = place(t);
  const { deployment } = publish(publication(at, { production: false, branch: 'feature', vars: { A: '1' } }));
  const route = routeOf(at);
  assert.deepEqual([route.production, route.branches, route.vars], [null, { feature: deployment.id }, {}]);
  assert.deepEqual(route.branchVars, { feature: { A: '1' } });
});

test('variables of a preview go to its branch, those of production stay; what was production is remembered', (t) => {
  const at = place(t);
  const first = publish(publication(at, { vars: { KEY: 'secret' } })).deployment;
  publish(publication(at, { branch: 'feature', production: false, artifactId: artifactB, vars: { KEY: 'test' } }));
  assert.deepEqual([routeOf(at).vars, routeOf(at).branchVars], [{ KEY: 'secret' }, { feature: { KEY: 'test' } }]);
  const second = publish(publication(at)).deployment;
  assert.deepEqual([routeOf(at).production, routeOf(at).productionHistory], [second.id, [first.id]]);
  assert.deepEqual(routeOf(at).vars, { KEY: 'secret' });
});

test('a preview leaves production, variables and earlier deployments as they are', (t) => {
  const at = place(t);
  const first = publish(publication(at, { vars: { A: '1' } })).deployment;
  const second = publish(publication(at, { branch: 'feature', production: false, artifactId: artifactB })).deployment;
  const route = routeOf(at);
  assert.equal(route.production, first.id);
  assert.deepEqual(route.branches, { main: first.id, feature: second.id });
  assert.deepEqual(Object.keys(route.deployments).sort(), [first.id, second.id].sort());
  assert.deepEqual(route.vars, { A: '1' });
});

test('an unchanged artifact makes a new deployment only when asked to', (t) => {
  const at = place(t);
  const first = publish(publication(at)).deployment;
  assert.deepEqual(publish(publication(at, { onlyWhenChanged: true })), {
    deployment: first,
    route: routeOf(at),
    changed: false,
  });
  assert.notEqual(publish(publication(at)).deployment.id, first.id);
});

test('nothing temporary is left behind, and nothing leaves its folder: artifacts and routes may be volumes', (t) => {
  const at = place(t);
  publish(publication(at));
  publish(publication(at));
  assert.deepEqual(readdirSync(at.dataFolder).toSorted(), ['artifacts', 'locks', 'routes']);
  assert.deepEqual(readdirSync(path.join(at.dataFolder, 'artifacts')), [artifactA]);
  assert.deepEqual(readdirSync(path.join(at.dataFolder, 'routes')), ['shop.json']);
});

test('a name that cannot be a host and an artifact that does not exist are refused before anything is written', (t) => {
  const at = place(t);
  assert.throws(() => publish(publication(at, { project: 'My_Shop' })), {
    message: '"My_Shop" is not a valid project name',
  });
  assert.throws(() => publish(publication(at, { project: 'a--b' })), {
    message: '"a--b" is not a valid project name',
  });
  assert.throws(() => publish(publication(at, { artifactId: '../x' })), { message: '"../x" is not an artifact id' });
  assert.throws(() => publish(publication(at, { artifactFolder: path.join(at.dataFolder, 'nowhere') })), {
    code: 'ENOENT',
  });
  assert.deepEqual(readRoutes(at.dataFolder), []);
});

test('a broken route record is named, not overwritten', (t) => {
  const at = place(t);
  mkdirSync(path.join(at.dataFolder, 'routes'), { recursive: true });
  const file = path.join(at.dataFolder, 'routes', 'shop.json');
  writeFileSync(file, '{');
  assert.throws(() => publish(publication(at)), { message: 'This route record is not JSON', file });
  assert.equal(readFileSync(file, 'utf8'), '{');
});

test('processes that publish at once lose nothing', async (t) => {
  const at = place(t);
  const code = `const { publish } = await import(${JSON.stringify(import.meta.resolve('#artifacts/publish.ts'))});
    const base = ${JSON.stringify(publication(at))};
    for (let i = 0; i < 5; i++) publish({ ...base, branch: process.argv[1] + i });`;
  const children = ['x', 'y', 'z'].map((name) =>
    spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', code, name], { stdio: 'inherit' }),
  );
  const codes = await Promise.all(children.map(async (child) => ((await once(child, 'exit')) as [number])[0]));
  assert.deepEqual(codes, [0, 0, 0]);
  assert.equal(Object.keys(routeOf(at).branches).length, 15);
  assert.equal(Object.keys(routeOf(at).deployments).length, 15);
});

test('all routes of a data folder are read, other files are not', (t) => {
  const at = place(t);
  publish(publication(at));
  publish(publication(at, { project: 'api' }));
  writeFileSync(path.join(at.dataFolder, 'routes', 'notes.txt'), 'x');
  assert.deepEqual(
    readRoutes(at.dataFolder).map((route) => route.project),
    ['api', 'shop'],
  );
});
