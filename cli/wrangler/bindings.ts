// Converts the bindings of a Wrangler configuration to bindings of platform.yaml, with one function per kind. Pure.
import { isClassName } from '#core/bindings/object.ts';
import { importedCron } from './crons.ts';
import { constantOf, projectNameOf } from './names.ts';
import { importedClasses } from './object-migrations.ts';
import { wranglerBindings } from './unsupported.ts';
import { listOf, recordOf, textOf, type Values } from './values.ts';
import { scalar, type Writer } from './yaml-lines.ts';

/** Writes all bindings. @returns variables with the URLs of the pools' servers for development. */
export function writeBindings(values: Values, writer: Writer): Record<string, string> {
  writeStores(values, writer);
  writeObjects(values, writer);
  writeServices(values, writer);
  writeAi(values, writer);
  const pools = writePools(values, writer);
  writeQueues(values, writer);
  writeSchedules(values, writer);
  return pools;
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

/** Writes pools, whose URLs are variables here. @returns as {@link writeBindings}. */
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

function writeSchedules(values: Values, { add, note }: Writer): void {
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
}
