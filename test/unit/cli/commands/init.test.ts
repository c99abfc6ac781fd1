// Starting a project from a template.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { run } from '#cli/main.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { resolveProject } from '#cli/project/resolved-config.ts';
import { projectNameFrom } from '#packages/create/project.ts';
import { dynamicStarters } from '#test/unit/builder/frameworks/starters/dynamic.ts';
import { siteStarters } from '#test/unit/builder/frameworks/starters/sites.ts';
import { ssrStarters } from '#test/unit/builder/frameworks/starters/ssr.ts';
import { staticStarters } from '#test/unit/builder/frameworks/starters/static.ts';
import { recordingShell } from '../recording-shell.ts';

function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), 'init-'));
  t.after(() => rmSync(made, { recursive: true }));
  return made;
}

test('each template becomes a project named after its folder', async (t) => {
  const cwd = folder(t);
  for (const template of ['worker', 'hono', 'static', 'agent']) {
    const shell = recordingShell(cwd);
    assert.equal(await run(['init', template, `My ${template}`], shell), 0, shell.errors.join('\n'));
    const read = (name: string): string => readFileSync(path.join(cwd, `My ${template}`, name), 'utf8');
    const manifest = JSON.parse(read('package.json')) as {
      name: string;
      scripts: Record<string, string>;
      dependencies?: Record<string, string>;
      devDependencies: Record<string, string>;
    };
    assert.equal(manifest.name, `my-${template}`);
    assert.deepEqual(Object.keys(manifest.scripts), ['dev', 'build', 'types', 'deploy', 'check']);
    for (const [name, wanted] of Object.entries({
      ...manifest.dependencies,
      ...manifest.devDependencies,
    }).filter(([key]) => key.startsWith('@platform-run/'))) {
      const target = path.resolve(cwd, `My ${template}`, wanted.replace(/^file:/, ''));
      assert.equal(
        (JSON.parse(readFileSync(path.join(target, 'package.json'), 'utf8')) as { name: string }).name,
        name,
      );
    }
    assert.match(read('platform.yaml'), /^kind: worker$/m);
    assert.match(read('.gitignore'), /^node_modules\/$/m);
    assert.match(read('.npmrc'), /^ignore-scripts=true$/m);
    assert.match(read('env.d.ts'), /^interface PlatformEnv \{$/m);
    assert.doesNotMatch(read('src/index.ts'), /__name__/);
    assert.match(
      shell.output[0]!,
      new RegExp(`^Created my-${template} from the template ${template} \\(\\d+ files\\)$`),
    );
  }
});

test('a folder with something in it is refused unless forced; a Git folder does not count', async (t) => {
  const cwd = folder(t);
  mkdirSync(path.join(cwd, '.git'));
  assert.equal(await run(['init', 'worker'], recordingShell(cwd)), 0);
  const shell = recordingShell(cwd);
  assert.equal(await run(['init', 'hono'], shell), 1);
  assert.equal(
    shell.errors[0],
    `error ${cwd} is not empty (it holds .gitignore)\nChoose another folder, or pass --force to use this folder.`,
  );
  assert.equal(await run(['init', 'hono', '--force'], recordingShell(cwd)), 0);
  assert.match(readFileSync(path.join(cwd, 'src/index.ts'), 'utf8'), /Hono/);
});

test('an unknown template suggests the nearest one', async (t) => {
  const shell = recordingShell(folder(t));
  assert.equal(await run(['init', 'hona', 'x'], shell), 2);
  assert.equal(
    shell.errors[0],
    'error There is no template "hona". Did you mean hono?\nTemplates: worker, hono, static, agent.',
  );
});

test('--list names the templates, also as JSON', async (t) => {
  const shell = recordingShell(folder(t));
  assert.equal(await run(['init', '--list', '--json'], shell), 0);
  const { templates } = JSON.parse(shell.output[0]!) as { templates: { name: string }[] };
  assert.deepEqual(
    templates.map(({ name }) => name),
    ['worker', 'hono', 'static', 'agent'],
  );
});

test('--packages points at tarballs, and names the one that is missing', async (t) => {
  const cwd = folder(t);
  mkdirSync(path.join(cwd, 'dist'));
  writeFileSync(path.join(cwd, 'dist/platform-run-cli-0.1.0.tgz'), '');
  const lacking = recordingShell(cwd);
  assert.equal(await run(['init', 'worker', 'a', '--packages', 'dist'], lacking), 1);
  assert.match(lacking.errors[0]!, /^error Found no tarball of @platform-run\/types in /);
  writeFileSync(path.join(cwd, 'dist/platform-run-types-0.1.0.tgz'), '');
  assert.equal(await run(['init', 'worker', 'b'], recordingShell(cwd, { PLATFORM_PACKAGES: 'dist' })), 0);
  const manifest = JSON.parse(readFileSync(path.join(cwd, 'b/package.json'), 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  assert.equal(manifest.devDependencies['@platform-run/cli'], `file:${cwd}/dist/platform-run-cli-0.1.0.tgz`);
  assert.equal(manifest.devDependencies['@platform-run/types'], `file:${cwd}/dist/platform-run-types-0.1.0.tgz`);
});

test('any folder name gives a project name', () => {
  assert.equal(projectNameFrom('/x/My App_2'), 'my-app-2');
  assert.equal(projectNameFrom('/x/--ü--'), 'app');
  assert.equal(projectNameFrom(`/x/${'a'.repeat(39)}-b`), 'a'.repeat(39));
});

test('--from writes platform.yaml as the files of a project show it, and changes none that is there', async (t) => {
  const cwd = folder(t);
  const write = (name: string, text: string): void => writeFileSync(path.join(cwd, name), text);
  write('package.json', JSON.stringify({ scripts: { build: 'nuxt build' }, dependencies: { nuxt: '4.2.1' } }));
  write('pnpm-lock.yaml', "lockfileVersion: '9.0'\n");
  const shell = recordingShell(cwd);
  assert.equal(await run(['init', '--from', '.'], shell), 0, shell.errors.join('\n'));
  const text = readFileSync(path.join(cwd, 'platform.yaml'), 'utf8');
  assert.match(text, /^# Detected Nuxt 4\.2\.1 \(from its package\.json and files\)$/m);
  assert.match(text, /^kind: dynamic$/m);
  assert.match(text, /^build: pnpm build$/m);
  assert.equal(shell.output.at(-2), 'Wrote platform.yaml');
  const config = parseProjectConfig(text, { file: 'platform.yaml' });
  assert.deepEqual([config.problems, config.config?.kind], [[], 'dynamic']);

  const again = recordingShell(cwd);
  assert.equal(await run(['init', '--from', '.'], again), 1);
  assert.match(again.errors.join('\n'), /platform\.yaml already exists/);
  assert.equal(readFileSync(path.join(cwd, 'platform.yaml'), 'utf8'), text);
});

test('--from of a folder that shows nothing, that is not there, and beside a template is refused', async (t) => {
  const cwd = folder(t);
  for (const [words, status, said] of [
    [['--from', '.'], 1, /Could not detect the kind of this project/],
    [['--from', 'none'], 1, /Folder .*none does not exist/],
    [['worker', '--from', '.'], 2, /A template and --from cannot be combined/],
  ] as const) {
    const shell = recordingShell(cwd);
    assert.equal(await run(['init', ...words], shell), status);
    assert.match(shell.errors.join('\n'), said);
  }
  assert.deepEqual(readdirSync(cwd), []);
});

for (const [name, { files, yaml }] of Object.entries({
  ...dynamicStarters,
  ...ssrStarters,
  ...staticStarters,
  ...siteStarters,
}).filter(([, starter]) => starter.kind !== null))
  test(`--from writes what is found of ${name}, and finds the same with it`, async (t) => {
    const cwd = folder(t);
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(cwd, file)), { recursive: true });
      writeFileSync(path.join(cwd, file), text);
    }
    const shell = recordingShell(cwd);
    assert.equal(await run(['init', '--from', '.'], shell), 0, shell.errors.join('\n'));
    const text = readFileSync(path.join(cwd, 'platform.yaml'), 'utf8');
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    assert.deepEqual(lines, yaml);
    const { config, problems } = parseProjectConfig(text, { file: 'platform.yaml' });
    assert.deepEqual(problems, []);
    const again = resolveProject({ root: cwd, workspace: cwd, folder: cwd, configFile: null, config: config! }).config;
    assert.deepEqual(
      [again.kind, again.build, again.out, again.main],
      [config!.kind, config!.build, config!.out, config!.main],
    );
  });
