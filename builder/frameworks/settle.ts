// The configuration that a build works with: platform.yaml before the settings of the project before what its files
// show. Pure. Called by builder/steps/plan.ts and by the commands that build.
import type { ProjectConfig } from '#core/config/project-config.ts';
import { BuildError } from '../project/build-error.ts';
import type { Detection } from './detect.ts';
import { isKnown } from './table.ts';

/** Settings of the project on the platform, valid ones. Null: not set. */
export interface DashboardSettings {
  readonly build: string | null;
  readonly out: string | null;
}

/** A configuration, and why it is this one: a line for each thing that counts. */
export interface Settled {
  readonly config: ProjectConfig;
  readonly said: readonly string[];
}

/**
 * Fills what platform.yaml leaves out.
 *
 * @throws {BuildError} `not_supported` for what cannot be built as it is, with what to change.
 * @example settle(config, { build: null, out: null }, detect(filesIn(root))).config.build // 'npm run build'
 */
export function settle(written: ProjectConfig, settings: DashboardSettings, detected: Detection): Settled {
  const { framework } = detected;
  const said: string[] = [];
  if (framework !== null) {
    const version = framework.version === null ? '' : ` ${framework.version}`;
    said.push(`Detected ${framework.name}${version} (${detected.because})`);
  }
  const kind = kindOf(written, settings, detected);
  if (kind !== written.kind) said.push(`Kind: ${kind} (${detected.kindBecause})`);
  const isDetected = written.kind === null && written.main === null;
  const [problem] = detected.problems;
  if (problem !== undefined && isDetected) throw new BuildError('not_supported', problem);
  const build = written.build ?? settings.build ?? detected.build;
  const source =
    written.build !== null
      ? 'platform.yaml'
      : settings.build !== null
        ? 'settings of the project'
        : detected.buildBecause;
  if (build !== null) said.push(`Build command: ${build} (${source})`);
  else if (detected.skipped !== null) said.push(detected.skipped);
  if (isOverridden(settings.build, written.build))
    said.push('The build command in the settings of the project is overridden by platform.yaml');
  const out = written.out ?? settings.out ?? outOfLibrary(detected);
  const outSource =
    written.out !== null
      ? 'platform.yaml'
      : settings.out !== null
        ? 'settings of the project'
        : `of ${framework?.name}`;
  if (out !== null) said.push(`Output folder: ${out} (${outSource})`);
  if (isOverridden(settings.out, written.out))
    said.push('The output directory in the settings of the project is overridden by platform.yaml');
  const main = written.main ?? (isDetected && kind === 'dynamic' && detected.isMainBuilt ? detected.main : null);
  return { config: { ...written, kind, build, out, main }, said };
}

/** The files count where a framework or a server decides. Sources and pages are looked at after the build. */
function kindOf(written: ProjectConfig, settings: DashboardSettings, detected: Detection): ProjectConfig['kind'] {
  if (written.kind !== null || written.main !== null || !detected.isKindDecided) return written.kind;
  // A folder to serve is named: beside it, a script "start" may be of development alone.
  const namesFolder = written.out !== null || settings.out !== null;
  return detected.framework === null && namesFolder ? null : detected.kind;
}

function isOverridden(setting: string | null, written: string | null): boolean {
  return written !== null && setting !== null && setting !== written;
}

/** The folder where only the library knows it; the others are found after the build. */
function outOfLibrary({ framework, out }: Detection): string | null {
  return framework !== null && !isKnown(framework.id) ? (out[0] ?? null) : null;
}
