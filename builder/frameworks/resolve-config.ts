// Resolves the configuration of a build: platform.yaml, then the project's settings, then detection. Pure. Called by
// builder/steps/plan.ts and by the commands that build.
import type { ProjectConfig } from '#core/config/project-config.ts';
import { BuildError } from '../project/build-error.ts';
import type { Detection } from './detect.ts';
import { isKnown } from './table.ts';

/** Validated settings of the project on the platform. Null: not set. */
interface DashboardSettings {
  readonly build: string | null;
  readonly out: string | null;
}

/** A configuration, with the reason for each value. */
interface ResolvedConfig {
  readonly config: ProjectConfig;
  readonly said: readonly string[];
}

/**
 * Adds the settings that platform.yaml does not set.
 *
 * @throws {BuildError} `not_supported` for a project that cannot be built without a change, with the fix.
 * @example settle(config, { build: null, out: null }, detect(filesIn(root))).config.build // 'npm run build'
 */
export function resolveConfig(
  written: ProjectConfig,
  settings: DashboardSettings,
  detected: Detection,
): ResolvedConfig {
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

/**
 * Uses the detected kind only if a framework or a server determines it. Otherwise the kind is determined by the build's
 * output.
 */
function kindOf(written: ProjectConfig, settings: DashboardSettings, detected: Detection): ProjectConfig['kind'] {
  if (written.kind !== null || written.main !== null || !detected.isKindDecided) return written.kind;
  // With a configured output folder, a script "start" may be only for development.
  const namesFolder = written.out !== null || settings.out !== null;
  return detected.framework === null && namesFolder ? null : detected.kind;
}

function isOverridden(setting: string | null, written: string | null): boolean {
  return written !== null && setting !== null && setting !== written;
}

/** The output folder of a framework that only the library detects; other output folders are found after the build. */
function outOfLibrary({ framework, out }: Detection): string | null {
  return framework !== null && !isKnown(framework.id) ? (out[0] ?? null) : null;
}
