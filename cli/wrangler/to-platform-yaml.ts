// Converts a Wrangler configuration to platform.yaml, and lists unsupported keys (as in docs/coming-from-wrangler.md).
// Pure.
import { isClassName } from '#core/bindings/object.ts';
import { isBindingName } from '#core/names.ts';
import { importedCron } from './crons.ts';
import { importedClasses } from './object-migrations.ts';
import { leavesOf, tracked } from './tracked.ts';
import { notNeeded, unsupported, unsupportedWithin, wranglerBindings } from './unsupported.ts';
import type { WranglerFile } from './read-wrangler.ts';

/** Result of a conversion. */
interface Imported {
  /** The text of a platform.yaml. */
  readonly yaml: string;
  /** `[vars]`, which are not part of platform.yaml. */
  readonly variables: Readonly<Record<string, string>>;
  /** Unsupported or different keys, with advice. */
  readonly notes: readonly { readonly key: string; readonly note: string }[];
}

type Values = Readonly<Record<string, unknown>>;

/** Collects lines of the file and notes. */
interface Writer {
  /** Adds a key of platform.yaml with its lines, after the comments of `from`. */
  add(from: readonly string[], ...lines: string[]): void;
  note(key: string, note: string): void;
  /** A valid binding name, with a note if it was changed. `as`: the rule of the key, by default that of bindings. */
  binding(key: string, value: unknown, as?: (name: string) => string): string | null;
  resource(key: string, value: unknown, otherwise: string): string;
}

/** The project around the file. */
export interface ProjectBeside {
  /** Names of the scripts in package.json. */
  readonly scripts: ReadonlySet<string>;
  readonly dependencies: ReadonlySet<string>;
  /** Whether the project has this file or folder. */
  has(path: string): boolean;
}

const alone: ProjectBeside = { scripts: new Set(), dependencies: new Set(), has: () => true };

const CLOUDFLARE_VITE = '@cloudflare/vite-plugin';

/** @example toPlatformYaml({ values: { name: 'shop', main: 'src/index.ts' }, comments: {} }).yaml */
export function toPlatformYaml({ values: given, comments }: WranglerFile, project = alone): Imported {
  const { values, unread } = tracked(given);
  const out: string[] = [];
  const notes: { key: string; note: string }[] = [];
  const told = new Set<string>();
  const writer: Writer = {
    add(from, ...lines) {
      for (const key of from) {
        if (!told.has(key)) for (const line of comments[key] ?? []) out.push(`# ${oneLine(line)}`);
        told.add(key);
      }
      out.push(...lines);
    },
    note: (key, note) => void notes.push({ key, note }),
    binding(key, value, as = bindingNameOf) {
      const made = as(textOf(value));
      if (made === '') {
        notes.push({ key, note: 'has no valid binding name: omitted' });
        return null;
      }
      if (made !== value) notes.push({ key, note: `the binding ${textOf(value)} is named ${made} here` });
      return made;
    },
    resource(key, value, otherwise) {
      const given = typeof value === 'string' && value !== '' ? value : otherwise;
      const made = given
        .toLowerCase()
        .replace(/[^a-z0-9_]+/g, '_')
        .replace(/^[^a-z]+|_+$/g, '')
        .slice(0, 64);
      return made === '' ? otherwise.toLowerCase() : made;
    },
  };
  writeProject(values, project, writer);
  writeAssets(values, project, writer);
  writeStores(values, writer);
  writeObjects(values, writer);
  writeServices(values, writer);
  writeAi(values, writer);
  const pools = writePools(values, writer);
  writeQueues(values, writer);
  writeRest(values, writer);
  for (const key of Object.keys(values)) {
    // Generated files contain every kind of binding, mostly empty.
    if (taken.has(key) || leavesOf(given[key], key).length === 0) continue;
    const note = Object.hasOwn(unsupported, key) ? unsupported[key]! : 'unknown key: omitted';
    writer.note(key, note);
    if (comments[key] !== undefined) writer.add([key], `# (${oneLine(key)} is not supported)`);
  }
  writer.add(['']);
  const variables = { ...variablesOf(values, writer), ...pools };
  for (const path of unread()) {
    const [key = ''] = path.split('.');
    const isTold = !taken.has(key) || toldWhole.has(key) || notes.some((one) => one.key === path);
    if (isTold || notNeeded.has(path)) continue;
    writer.note(path, unsupportedWithin[path] ?? 'no equivalent: omitted');
  }
  return { yaml: `${out.join('\n')}\n`, variables, notes };
}

const taken = new Set([
  '$schema',
  'name',
  'main',
  'compatibility_date',
  'compatibility_flags',
  'build',
  'assets',
  'site',
  ...wranglerBindings.map(([, { key }]) => key),
  'durable_objects',
  'migrations',
  'services',
  'ai',
  'hyperdrive',
  'queues',
  'triggers',
  'vars',
  'dev',
  'env',
  'limits',
  'no_bundle',
  'pages_build_output_dir',
]);

/** Keys whose note covers all nested keys. */
const toldWhole = new Set(['$schema', 'env', 'vars', 'no_bundle']);

/** Where Cloudflare's Vite plugin writes the worker and the files of its page; null: the project does not have it. */
function viteOutput(values: Values, { dependencies }: ProjectBeside): { main: string; out: string } | null {
  if (!dependencies.has(CLOUDFLARE_VITE)) return null;
  if (dependencies.has('@react-router/dev')) return { main: 'build/server/index.js', out: 'build/client' };
  const isStart = ['@tanstack/react-start', '@tanstack/solid-start'].some((name) => dependencies.has(name));
  const environment = isStart ? 'server' : textOf(values['name']).replaceAll('-', '_') || 'worker';
  return { main: `dist/${environment}/index.js`, out: 'dist/client' };
}

function writeProject(values: Values, project: ProjectBeside, { add, note }: Writer): void {
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

function writeAssets(values: Values, project: ProjectBeside, { add, note, binding }: Writer): void {
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

/** Writes storage bindings. */
function writeStores(values: Values, { add, note, binding, resource }: Writer): void {
  for (const [kind, { key: from, resource: field }] of wranglerBindings) {
    const lines: string[] = [];
    for (const entry of listOf(values[from]).map(recordOf)) {
      const name = binding(from, entry['binding']);
      if (name === null) continue;
      const called = resource(from, entry[field], name);
      const exported = from === 'workflows' ? entry['class_name'] : undefined;
      lines.push(
        `  ${name}: ${exported === undefined ? called : `{ name: ${called}, class: ${scalar(textOf(exported))} }`}`,
      );
      if (from === 'd1_databases' && entry['migrations_dir'] !== undefined)
        note('d1_databases.migrations_dir', `${textOf(entry['migrations_dir'])} must be named migrations/ here`);
    }
    if (lines.length > 0) add([from], `${kind}:`, ...lines);
  }
}

/** Writes durable objects, and the classes that their migrations rename, delete or transfer. */
function writeObjects(values: Values, { add, note, binding }: Writer): void {
  const lines: string[] = [];
  const own: string[] = [];
  for (const entry of listOf(recordOf(values['durable_objects'])['bindings']).map(recordOf)) {
    const name = binding('durable_objects.bindings', entry['name']);
    if (name === null) continue;
    const exported = textOf(entry['class_name']);
    if (!isClassName(exported)) {
      note('durable_objects.bindings.class_name', 'is not the name of a class: omitted');
      continue;
    }
    const script = textOf(entry['script_name']);
    const project = projectNameOf(script);
    if (project !== script) note('durable_objects.bindings.script_name', `"${script}" is named ${project} here`);
    if (project === '') own.push(exported);
    const shown = scalar(exported);
    lines.push(`  ${name}: ${project === '' ? shown : `{ class: ${shown}, project: ${scalar(project)} }`}`);
    if (entry['environment'] !== undefined)
      note(
        'durable_objects.bindings.environment',
        'previews use the same branch of the other project if it has one, else production',
      );
  }
  if (lines.length > 0) add(['durable_objects', 'migrations'], 'object:', ...lines);
  const classes = importedClasses(listOf(values['migrations']).map(recordOf), new Set(own), projectNameOf);
  for (const [key, text] of classes.notes) note(`migrations.${key}`, text);
  const renamed = Object.entries(classes.renamed).map(([from, to]) => `${scalar(from)}: ${scalar(to)}`);
  const deleted = classes.deleted.map(scalar);
  const received = Object.entries(classes.received).map(
    ([name, { project, class: from }]) =>
      `    ${scalar(name)}: { project: ${scalar(project)}, class: ${scalar(from)} }`,
  );
  const gone = [
    ...(renamed.length === 0 ? [] : [`  renamed: { ${renamed.join(', ')} }`]),
    ...(deleted.length === 0 ? [] : [`  deleted: [${deleted.join(', ')}]`]),
    ...(received.length === 0 ? [] : ['  received:', ...received]),
  ];
  if (gone.length > 0) add([], 'object_classes:', ...gone);
}

/** Writes bindings of other workers, which are projects here. */
function writeServices(values: Values, { add, note, binding }: Writer): void {
  const lines: string[] = [];
  for (const entry of listOf(values['services']).map(recordOf)) {
    const name = binding('services', entry['binding']);
    const given = textOf(entry['service']);
    const project = projectNameOf(given);
    if (name === null) continue;
    if (project === '') {
      note('services', `${name} has no "service"`);
      continue;
    }
    if (project !== given) note('services', `"${given}" is named ${project} here`);
    const entrypoint = textOf(entry['entrypoint']);
    lines.push(
      entrypoint === '' || entrypoint === 'default'
        ? `  ${name}: ${scalar(project)}`
        : `  ${name}: { project: ${scalar(project)}, entrypoint: ${scalar(entrypoint)} }`,
    );
    if (entry['environment'] !== undefined)
      note('services.environment', 'previews call the same branch of the other project if it has one, else production');
  }
  if (lines.length > 0) add(['services'], 'service:', ...lines);
}

/** Writes Workers AI, whose binding has a fixed name here. */
function writeAi(values: Values, { add, note }: Writer): void {
  const name = textOf(recordOf(values['ai'])['binding']);
  if (name === '') return;
  add(['ai'], 'ai: true');
  if (name !== 'AI') note('ai.binding', `the binding ${name} is named AI here`);
  note('ai', '`env.AI` calls the AI gateway: use the model names of your providers, or "auto" (docs/ai.md)');
}

/** @returns the variables of the pools whose server for development is known. */
function writePools(values: Values, { add, note, binding }: Writer): Record<string, string> {
  const lines: string[] = [];
  const variables: Record<string, string> = {};
  for (const entry of listOf(values['hyperdrive']).map(recordOf)) {
    const name = binding('hyperdrive', entry['binding']);
    if (name === null) continue;
    const variable = `${name}_URL`;
    lines.push(`  ${name}: ${variable}`);
    const local = textOf(entry['localConnectionString']);
    if (local !== '') variables[variable] = local;
    if (textOf(entry['id']) !== '')
      note('hyperdrive.id', `set the URL of its server: \`platform env set ${variable} --secret\``);
  }
  if (lines.length > 0) add(['hyperdrive'], 'hyperdrive:', ...lines);
  return variables;
}

function bindingNameOf(text: string): string {
  const made = text
    .replace(/[^A-Za-z0-9_]/g, '_')
    .replace(/^[^A-Za-z]+/, '')
    .slice(0, 64);
  return made === '' || isBindingName(made) ? made : made.toUpperCase();
}

function constantOf(text: string): string {
  return bindingNameOf(text).toUpperCase();
}

/** The asset fetcher's name has no digits. */
function assetsNameOf(text: string): string {
  return constantOf(text).replace(/\d+/g, '');
}

function projectNameOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
}

function writeQueues(values: Values, { add, note, binding, resource }: Writer): void {
  const queues = recordOf(values['queues']);
  const consumers = new Map(
    listOf(queues['consumers'])
      .map(recordOf)
      .map((one) => [textOf(one['queue']), one]),
  );
  const lines: string[] = [];
  for (const producer of listOf(queues['producers']).map(recordOf)) {
    const name = binding('queues.producers', producer['binding']);
    const queue = textOf(producer['queue']);
    if (name === null) continue;
    const settings = settingsOf(consumers.get(queue), resource, note);
    consumers.delete(queue);
    const called = resource('queues', queue, name);
    lines.push(
      settings.length === 0 ? `  ${name}: ${called}` : `  ${name}: { name: ${called}, ${settings.join(', ')} }`,
    );
  }
  for (const [queue, consumer] of consumers) {
    const name = binding('queues.consumers', queue, constantOf);
    if (name === null) continue;
    const settings = settingsOf(consumer, resource, note);
    lines.push(`  ${name}: { ${[`name: ${resource('queues', queue, name)}`, ...settings].join(', ')} }`);
    note('queues.consumers', `${queue} is produced by another worker: here a queue belongs to one project`);
  }
  if (lines.length > 0) add(['queues'], 'queue:', ...lines);
}

function settingsOf(consumer: Values | undefined, resource: Writer['resource'], note: Writer['note']): string[] {
  if (consumer === undefined) return [];
  const numbers = ['max_retries', 'retry_delay', 'max_concurrency'].flatMap((key) =>
    typeof consumer[key] === 'number' ? [`${key}: ${consumer[key]}`] : [],
  );
  const dead = consumer['dead_letter_queue'];
  if (typeof dead === 'string') numbers.push(`dead_letter: ${resource('queues', dead, 'dead')}`);
  if (consumer['type'] !== undefined && consumer['type'] !== 'worker')
    note('queues.consumers.type', `${textOf(consumer['type'])} is not supported: a queue calls its worker`);
  return numbers;
}

function writeRest(values: Values, { add, note }: Writer): void {
  const crons = listOf(recordOf(values['triggers'])['crons']);
  const lines = crons.flatMap((text, at) => {
    const made = typeof text === 'string' ? importedCron(text) : { problem: 'it is not a string' };
    if ('problem' in made) {
      note('triggers.crons', `"${textOf(text)}" is omitted: ${made.problem}`);
      return [];
    }
    if (made.cron !== textOf(text).trim())
      note('triggers.crons', `"${textOf(text)}" is "${made.cron}" here, where 0 is Sunday and 1 Monday`);
    return [`  ${crons.length === 1 ? 'CRON' : `CRON_${at + 1}`}: ${scalar(made.cron)}`];
  });
  if (lines.length > 0) add(['triggers'], 'cron:', ...lines);
  for (const name of Object.keys(recordOf(values['env'])))
    note(`env.${name}`, `is a branch here: \`platform deploy --branch ${name}\`, with its own variables and resources`);
  if (recordOf(values['limits'])['cpu_ms'] !== undefined)
    note('limits.cpu_ms', 'is the plan of the project here: `platform plan`');
}

function variablesOf(values: Values, { note }: Writer): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(recordOf(values['vars']))) {
    variables[name] = typeof value === 'string' ? value : JSON.stringify(value);
    if (typeof value !== 'string') note(`vars.${name}`, 'is a string here: parse it with JSON.parse in the worker');
  }
  return variables;
}

const textOf = (value: unknown): string =>
  value instanceof Date
    ? value.toISOString()
    : typeof value === 'string' || typeof value === 'number'
      ? String(value)
      : '';

function recordOf(value: unknown): Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Removes line breaks from a comment. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trimEnd();
}

/** A YAML scalar: plain if unambiguous, else quoted. */
function scalar(text: string): string {
  const isPlain = /^[A-Za-z_./][\w./ -]*$/.test(text) && !/ $|^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text);
  if (isPlain) return text;
  // Line breaks and control characters have an escape in double quotes only.
  return /[^\x20-\x7e]/.test(text) ? JSON.stringify(text) : `'${text.replaceAll("'", "''")}'`;
}
