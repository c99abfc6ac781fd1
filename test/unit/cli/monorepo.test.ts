// Projects in a repository: where `base` leads, what makes a workspace, and how dev, build and deploy choose among
// several projects.
import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { chooseProjects } from '#cli/project/choose-projects.ts';
import { failuresOf, formatFailure } from '#cli/terminal/failure.ts';
import { run } from '#cli/main.ts';
import { loadProject } from '#cli/project/project.ts';
import { placeOf } from '#cli/project/repository.ts';
import { recordingShell } from './recording-shell.ts';

const worker = 'import { text } from "../../../shared/text.ts"; export default { fetch: () => new Response(text) };';

function repository(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'monorepo-')));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries({ '.git/HEAD': 'ref: refs/heads/main\n', ...files })) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return root;
}

function failure(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return failuresOf(error).map(formatFailure).join('\n');
  }
  return assert.fail('nothing is wrong');
}

const two = {
  'apps/web/platform.yaml': 'name: shop\n',
  'apps/web/src/index.ts': worker,
  'apps/api/platform.yaml': 'kind: worker\n',
  'apps/api/src/index.ts': worker,
  'shared/text.ts': 'export const text = "shared by both";',
};

test('base is relative to the repository, wherever platform.yaml lies', (t) => {
  const root = repository(t, {
    'platform.yaml': 'base: apps/web\n',
    'apps/web/src/index.ts': '',
    'apps/api/platform.yaml': 'base: apps/api\n',
    'deploy/platform.yaml': 'base: apps/web\n',
    'apps/plain/platform.yaml': '',
  });
  const rootOf = (folder: string): string => loadProject(recordingShell(root), path.join(root, folder), null).root;
  assert.equal(rootOf('.'), path.join(root, 'apps/web'));
  assert.equal(rootOf('apps/api'), path.join(root, 'apps/api'));
  assert.equal(rootOf('deploy'), path.join(root, 'apps/web'));
  assert.equal(rootOf('apps/plain'), path.join(root, 'apps/plain'));
});

test('a base that is not there, or leads out of the repository, is refused with its place', (t) => {
  const root = repository(t, {
    'apps/web/platform.yaml': 'kind: worker\nbase: src\n',
    'apps/web/src/index.ts': '',
    'platform.yaml': 'base: away\n',
  });
  const load = (folder: string) => failure(() => loadProject(recordingShell(root), path.join(root, folder), null));
  assert.match(
    load('apps/web'),
    /platform\.yaml:2:1: base: folder src does not exist in the repository .*\n> 2 \| base: src\n.*\nDid you mean "apps\/web\/src"\? /s,
  );
  symlinkSync('/etc', path.join(root, 'away'));
  assert.match(load('.'), /^platform\.yaml:1:1: base: away is outside the repository\n/);
});

test('a platform.yaml that is a link out of the repository is not read', (t) => {
  const root = repository(t, { 'kept.yaml': 'name: kept\n', 'web/a': '' });
  symlinkSync('/etc/passwd', path.join(root, 'platform.yaml'));
  const said = failure(() => loadProject(recordingShell(root), root, null));
  assert.match(said, /^.*platform\.yaml: This symbolic link points outside the repository/);
  assert.ok(!said.includes('root:'), said);
  symlinkSync('/etc/passwd', path.join(root, 'platform-workspace.yaml'));
  assert.match(
    failure(() => loadProject(recordingShell(root), path.join(root, 'web'), null)),
    /platform-workspace\.yaml: This symbolic link points outside/,
  );
  unlinkSync(path.join(root, 'platform-workspace.yaml'));
  symlinkSync('../kept.yaml', path.join(root, 'web/platform.yaml'));
  assert.equal(loadProject(recordingShell(root), path.join(root, 'web'), null).config.name, 'kept');
});

test('the workspace is the outermost folder of the repository with a manifest, or the repository of several projects', (t) => {
  const several = repository(t, two);
  assert.deepEqual(placeOf(path.join(several, 'apps/web')), { repository: several, workspace: several });
  const single = repository(t, { 'apps/web/platform.yaml': '' });
  assert.deepEqual(placeOf(path.join(single, 'apps/web')), { repository: single, workspace: null });
  const manifest = repository(t, { 'code/pnpm-workspace.yaml': '', 'code/apps/web/turbo.json': '{}' });
  assert.deepEqual(placeOf(path.join(manifest, 'code/apps/web')), {
    repository: manifest,
    workspace: path.join(manifest, 'code'),
  });
  rmSync(path.join(manifest, '.git'), { recursive: true });
  rmSync(path.join(manifest, 'code/apps/web/turbo.json'));
  assert.deepEqual(placeOf(path.join(manifest, 'code/apps/web')), {
    repository: path.join(manifest, 'code'),
    workspace: path.join(manifest, 'code'),
  });
});

test('platform-workspace.yaml is obeyed, and told where it is wrong', (t) => {
  const root = repository(t, { ...two, 'platform-workspace.yaml': 'exclude: [apps/a*]\n' });
  assert.equal(placeOf(path.join(root, 'apps/web')).workspace, null);
  writeFileSync(path.join(root, 'platform-workspace.yaml'), 'exclude:\n  - "!apps"\nexlude: 1\n');
  const said = failure(() => loadProject(recordingShell(root), path.join(root, 'apps/web'), null));
  assert.match(said, /platform-workspace\.yaml:2:5: "!apps" begins with "!", which is not supported/);
  assert.match(said, /platform-workspace\.yaml:3:1: Unknown key "exlude"/);
  // A list of projects would hide which of them are excluded.
  for (const folder of [root, path.join(root, 'apps/web')])
    assert.match(
      failure(() => chooseProjects('platform build', { folder, project: folder === root ? undefined : 'api' }, true)),
      /platform-workspace\.yaml:3:1: Unknown key "exlude"/,
    );
});

test('at the root of a monorepo the projects are listed, and chosen by name or folder', (t) => {
  const root = repository(t, two);
  const choose = (choice: object, folder = root) => chooseProjects('platform build', { folder, ...choice }, true);
  const list = '  api   apps/api\n  shop  apps/web';
  assert.equal(
    failure(() => choose({})),
    `There are 2 projects in subfolders: choose one\n${list}\nRun \`platform build --project api\`, or \`platform build --all\` for each.`,
  );
  const web = [path.join(root, 'apps/web')];
  assert.deepEqual(choose({ project: 'shop' }), web);
  assert.deepEqual(choose({ project: 'apps/web/' }), web);
  assert.deepEqual(choose({ project: 'shop' }, path.join(root, 'apps/api')), web);
  assert.deepEqual(choose({}, path.join(root, 'apps/web')), web);
  assert.deepEqual(choose({ all: true }), [path.join(root, 'apps/api'), ...web]);
  assert.equal(
    failure(() => choose({ project: 'shp' })),
    `There is no project shp. Did you mean shop?\n${list}`,
  );
  assert.equal(
    failure(() => choose({ project: 'elsewhere' })),
    `No project in this repository is named elsewhere; --name deploys a project under another name\n${list}`,
  );
  assert.match(
    failure(() => choose({ project: 'shop', all: true })),
    /cannot be combined/,
  );
  assert.match(
    failure(() => choose({ project: 'shop', config: 'x' })),
    /--config cannot be combined/,
  );
});

test('platform build --all builds each project, which may import what the workspace shares', async (t) => {
  const root = repository(t, { ...two, 'package.json': '{"workspaces":["apps/*"]}' });
  const shell = recordingShell(root);
  assert.equal(await run(['build', '--all', '--json'], shell), 0, shell.output.join('\n'));
  const built = shell.output.map((line) => JSON.parse(line) as { folder: string });
  assert.deepEqual(
    built.map(({ folder }) => path.relative(root, folder).split(path.sep).slice(0, 2).join('/')),
    ['apps/api', 'apps/web'],
  );
  for (const { folder } of built) assert.match(readFileSync(path.join(folder, 'worker.js'), 'utf8'), /shared by both/);
  const asked = recordingShell(root);
  assert.equal(await run(['build'], asked), 2);
  assert.match(asked.errors[0]!, /There are 2 projects in subfolders/);
});

test('the build command runs in base, with the tools that are installed at the root', async (t) => {
  const root = repository(t, {
    'package.json': '{"workspaces":["apps/*"]}',
    'node_modules/.bin/make-site': '#!/bin/sh\nmkdir -p dist && pwd > dist/index.html\n',
    'apps/site/page.txt': '',
    'platform.yaml': 'kind: static\nbuild: make-site\nbase: apps/site\n',
  });
  chmodSync(path.join(root, 'node_modules/.bin/make-site'), 0o755);
  const shell = recordingShell(root);
  assert.equal(await run(['build', '--json'], shell), 0, shell.output.join('\n'));
  const { folder } = JSON.parse(shell.output[0]!) as { folder: string };
  assert.equal(readFileSync(path.join(folder, 'assets/index.html'), 'utf8'), `${path.join(root, 'apps/site')}\n`);
});
