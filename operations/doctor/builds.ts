// Checks whether builds can run on the configured BUILD_EXECUTOR. Called by services.ts; sandboxes.ts checks whether
// the sandbox service answers.
import { buildExecutor } from '#core/sandbox/build-executor.ts';
import type { Environment } from '../locations.ts';
import { fail, ok, type Finding } from './finding.ts';

/** No findings if builds run on the builder's machine. */
export function checkBuildExecutor(environment: Environment): Finding[] {
  try {
    const executor = buildExecutor(environment);
    if (executor === null) return [];
    const { organizations } = executor;
    const whose = organizations === null ? 'Builds' : `Builds of ${organizations.size} organizations`;
    return [ok('builds', `${whose} run in sandboxes`)];
  } catch (error) {
    const advice = 'The builder cannot start with these settings: correct them, or set BUILD_EXECUTOR=local.';
    return [fail('builds', (error as Error).message, advice)];
  }
}
