// Converts a Wrangler configuration to platform.yaml, and lists unsupported keys (as in docs/coming-from-wrangler.md).
// Pure.
import { writeBindings } from './bindings.ts';
import { variablesOf, writeAssets, writeBranches, writeProject, type ProjectBeside } from './project.ts';
import { leavesOf, tracked } from './tracked.ts';
import { notNeeded, unsupported, unsupportedWithin, wranglerBindings } from './unsupported.ts';
import { createWriter, oneLine, type Writer } from './yaml-lines.ts';
import type { WranglerFile } from './read-wrangler.ts';

/** Result of a conversion. */
interface Imported {
  /** The text of a platform.yaml. */
  readonly yaml: string;
  /** `[vars]`, which are not part of platform.yaml. */
  readonly variables: Readonly<Record<string, string>>;
  /** Unsupported or different keys, with advice. */
  readonly notes: Writer['notes'];
}

const alone: ProjectBeside = { scripts: new Set(), dependencies: new Set(), has: () => true };

/** @example toPlatformYaml({ values: { name: 'shop', main: 'src/index.ts' }, comments: {} }).yaml */
export function toPlatformYaml({ values: given, comments }: WranglerFile, project = alone): Imported {
  const { values, unread } = tracked(given);
  const writer = createWriter(comments);
  writeProject(values, project, writer);
  writeAssets(values, project, writer);
  const pools = writeBindings(values, writer);
  writeBranches(values, writer);
  for (const key of Object.keys(values)) {
    // Configurations that Wrangler generates contain every kind of binding, mostly empty.
    if (taken.has(key) || leavesOf(given[key], key).length === 0) continue;
    const note = Object.hasOwn(unsupported, key) ? unsupported[key]! : 'unknown key: omitted';
    writer.note(key, note);
    if (comments[key] !== undefined) writer.add([key], `# (${oneLine(key)} is not supported)`);
  }
  writer.add(['']);
  const variables = { ...variablesOf(values, writer), ...pools };
  for (const path of unread()) {
    const [key = ''] = path.split('.');
    const isTold = !taken.has(key) || toldWhole.has(key) || writer.notes.some((one) => one.key === path);
    if (isTold || notNeeded.has(path)) continue;
    writer.note(path, unsupportedWithin[path] ?? 'no equivalent: omitted');
  }
  return { yaml: `${writer.lines.join('\n')}\n`, variables, notes: writer.notes };
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
