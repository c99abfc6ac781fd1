// Converts the settings of a Wrangler configuration for the whole project to keys of platform.yaml: name, entry, build,
// assets, variables. Pure.
import { assetsNameOf, projectNameOf } from './names.ts';
import { listOf, recordOf, textOf, type Values } from './values.ts';
import { scalar, type Writer } from './yaml-lines.ts';

/** The project that contains the configuration file. */
export interface ProjectBeside {
  /** Names of the scripts in package.json. */
  readonly scripts: ReadonlySet<string>;
  readonly dependencies: ReadonlySet<string>;
  /** Whether the project has this file or folder. */
  has(path: string): boolean;
}

const CLOUDFLARE_VITE = '@cloudflare/vite-plugin';

/**
 * Where Cloudflare's Vite plugin writes the worker and the files of its page; null if the project does not use the
 * plugin.
 */
function viteOutput(values: Values, { dependencies }: ProjectBeside): { main: string; out: string } | null {
  if (!dependencies.has(CLOUDFLARE_VITE)) return null;
  if (dependencies.has('@react-router/dev')) return { main: 'build/server/index.js', out: 'build/client' };
  const isStart = ['@tanstack/react-start', '@tanstack/solid-start'].some((name) => dependencies.has(name));
  const environment = isStart ? 'server' : textOf(values['name']).replaceAll('-', '_') || 'worker';
  return { main: `dist/${environment}/index.js`, out: 'dist/client' };
}

export function writeProject(values: Values, project: ProjectBeside, { add, note }: Writer): void {
  if (typeof values['name'] === 'string') {
    const name = projectNameOf(values['name']) || 'app';
    if (name !== values['name']) note('name', `"${values['name']}" is named ${name} here`);
    add(['$schema', 'name'], `name: ${scalar(name)}`);
  }
  const vite = viteOutput(values, project);
  const { main } = values;
  if (vite !== null) add(['main'], `main: ${vite.main}`);
  else if (typeof main === 'string') add(['main'], `main: ${scalar(main.replace(/^\.\//, ''))}`);
  const date = textOf(values['compatibility_date']).slice(0, 10);
  if (/^\d{4}-\d{2}-\d{2}$/.test(date)) {
    if (date < '2023-01-01') note('compatibility_date', `${date} is too early: 2023-01-01 is used`);
    add(['compatibility_date'], `compatibility_date: '${date < '2023-01-01' ? '2023-01-01' : date}'`);
  }
  const flags = listOf(values['compatibility_flags']).filter((flag): flag is string => typeof flag === 'string');
  if (flags.length > 0) add(['compatibility_flags'], `compatibility_flags: [${flags.map(scalar).join(', ')}]`);
  const command = recordOf(values['build'])['command'];
  if (typeof command === 'string') add(['build'], `build: ${scalar(command)}`);
  else if (vite !== null) {
    add([], `build: ${project.scripts.has('build') ? 'npm run build' : 'vite build'}`);
    note(CLOUDFLARE_VITE, `its build makes ${vite.main}; for Vite's dev server, use @platform-run/vite (docs/vite.md)`);
  } else if (project.scripts.has('build')) {
    const missing = [values['main'], recordOf(values['assets'])['directory'], values['pages_build_output_dir']].find(
      (path) => typeof path === 'string' && !project.has(path),
    );
    if (missing !== undefined) {
      add([], 'build: npm run build');
      note('build', `${textOf(missing)} does not exist: it is built by "npm run build"`);
    }
  }
  const { port, ip } = recordOf(values['dev']);
  const dev = [
    ...(typeof port === 'number' ? [`port: ${port}`] : []),
    ...(typeof ip === 'string' ? [`host: ${scalar(ip)}`] : []),
  ];
  if (dev.length > 0) add(['dev'], `dev: { ${dev.join(', ')} }`);
  if (values['no_bundle'] === true) note('no_bundle', 'modules are always bundled here');
}

export function writeAssets(values: Values, project: ProjectBeside, { add, note, binding }: Writer): void {
  const site = recordOf(values['site'])['bucket'];
  const assets = recordOf(values['assets']);
  const folder = assets['directory'] ?? site ?? values['pages_build_output_dir'];
  const vite = viteOutput(values, project);
  if (vite !== null) add(['assets'], `out: ${vite.out}`);
  else if (typeof folder === 'string')
    add(
      ['assets', 'site', 'pages_build_output_dir'],
      `out: ${scalar(folder.replace(/^\.\//, '').replace(/\/+$/, ''))}`,
    );
  if (site !== undefined)
    note(
      'site',
      'Workers Sites: here, the files are served before the worker, and the code of Workers Sites is not used',
    );
  const lines: string[] = [];
  if (assets['binding'] !== undefined) {
    const name = binding('assets.binding', assets['binding'], assetsNameOf);
    if (name !== null) lines.push(`  binding: ${name}`);
  }
  const missing = assets['not_found_handling'];
  if (typeof missing === 'string') lines.push(`  not_found_handling: ${scalar(missing)}`);
  const first = assets['run_worker_first'];
  if (typeof first === 'boolean') lines.push(`  run_worker_first: ${first}`);
  else if (Array.isArray(first))
    lines.push(`  run_worker_first: [${first.map((one) => scalar(textOf(one))).join(', ')}]`);
  if (lines.length > 0) add(['assets'], 'assets:', ...lines);
  if (assets['html_handling'] !== undefined)
    note('assets.html_handling', 'pages are always served without .html (docs/static-files.md)');
}

/** Adds a note for each Wrangler key that branches or plans replace. */
export function writeBranches(values: Values, { note }: Writer): void {
  for (const name of Object.keys(recordOf(values['env'])))
    note(`env.${name}`, `is a branch here: \`platform deploy --branch ${name}\`, with its own variables and resources`);
  if (recordOf(values['limits'])['cpu_ms'] !== undefined)
    note('limits.cpu_ms', 'is the plan of the project here: `platform plan`');
}

export function variablesOf(values: Values, { note }: Writer): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(recordOf(values['vars']))) {
    variables[name] = typeof value === 'string' ? value : JSON.stringify(value);
    if (typeof value !== 'string') note(`vars.${name}`, 'is a string here: parse it with JSON.parse in the worker');
  }
  return variables;
}
