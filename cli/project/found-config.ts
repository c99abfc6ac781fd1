// `platform init --from`: platform.yaml of a project that is there already, as its files show it. Called by
// commands/init.ts.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { configIn, loadProject } from './project.ts';
import { detectIn, settleProject } from './settled.ts';

/** What was written. */
interface FoundConfig {
  readonly file: string;
  /** Keys that are decided; what is left out is found again with each build. */
  readonly config: Readonly<Record<string, string>>;
  /** Why, a line for each. */
  readonly said: readonly string[];
}

/**
 * Writes `platform.yaml` into the folder of a project.
 *
 * @throws {CliError} where there is one, or where nothing shows what the project is. {BuildError} `not_supported`, with
 *   what to change: nothing is written.
 */
export function writeFoundConfig(shell: Shell, folder: string): FoundConfig {
  const existing = configIn(folder);
  if (existing !== undefined)
    throw new CliError(`There is ${path.basename(existing)} already`, {
      advice: 'Delete it to have it written anew: `platform init --from` changes nothing that is there.',
    });
  const project = loadProject(shell, folder, null);
  const { framework, kind, build, main, out } = detectIn(project);
  if (framework === null && kind === null && build === null && main === null)
    throw new CliError('Nothing here shows what this project is', {
      advice: 'Start one from a template: `platform init --list` names them.',
    });
  const said: string[] = [];
  const settled = settleProject(project, (line) => said.push(line)).config;
  const isStatic = (settled.kind ?? kind) === 'static';
  const found = {
    kind: settled.kind ?? kind,
    // A static project has to say how it is built, also where nothing is to be done for it.
    build: settled.build ?? (isStatic ? 'true' : null),
    out: settled.out ?? (isStatic && out.length === 1 ? out[0]! : null),
    main: settled.main,
  };
  const config = Object.fromEntries(
    (['kind', 'build', 'out', 'main'] as const).flatMap((key) => {
      const value = found[key];
      return value === null ? [] : [[key, value]];
    }),
  );
  const file = path.join(folder, 'platform.yaml');
  const comments = said.map((line) => `# ${line.replaceAll(/\s+/g, ' ')}\n`).join('');
  const lines = Object.entries(config).map(([key, value]) => `${key}: ${toYaml(value)}\n`);
  writeFileSync(file, `${comments}${lines.join('')}`, { flag: 'wx' });
  return { file, config, said };
}

/** A text as YAML has it: as it is, or as JSON where a sign in it could mean something. */
function toYaml(text: string): string {
  return /^(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z_][\w./@ -]*$/i.test(text) ? text : JSON.stringify(text);
}
