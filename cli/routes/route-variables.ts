// Variables in a project's route record, for a local platform without a control plane. Called by `platform env`.
import type { RouteRecord } from '#core/manifest.ts';
import { previewOf } from '#core/preview.ts';
import { changeRoute } from '#artifacts/route-records.ts';
import { inWords, misuse, type Scope, type ScopeFlags } from '../api/variable-flags.ts';
import { findDeployed } from '../project/target.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { untilRouted } from './served.ts';

type Variables = Readonly<Record<string, string>>;

/** A variable. */
interface RouteVariable {
  readonly scope: Scope;
  readonly name: string;
  readonly value: string;
}

/** Variables of a project, of one scope or of all scopes. */
export async function readRouteVariables(
  shell: Shell,
  flags: ScopeFlags,
  scope: Scope | null,
): Promise<{ readonly project: string; readonly variables: readonly RouteVariable[] }> {
  const { route } = await findDeployed(shell, flags);
  const branches = Object.keys(route.branchVars ?? {}).map((branch): Scope => ({ kind: 'branch', branch }));
  const scopes: readonly Scope[] =
    scope === null ? [{ kind: 'production' }, { kind: 'preview' }, ...branches] : [scope];
  const variables = scopes.flatMap((of) =>
    Object.entries(variablesOf(route, of))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => ({ scope: of, name, value })),
  );
  return { project: route.project, variables };
}

/**
 * Sets variables; null removes a variable. Takes effect on the next request.
 *
 * @returns the project's name.
 */
export async function changeRouteVariables(
  shell: Shell,
  flags: ScopeFlags,
  scope: Scope,
  changes: Readonly<Record<string, string | null>>,
): Promise<string> {
  const { platform, route } = await findDeployed(shell, flags);
  if (
    scope.kind === 'branch' &&
    Object.values(route.deployments).some(({ id, branch }) => branch === scope.branch && previewOf(route, id) === null)
  )
    throw new CliError(`${scope.branch} is the production branch and uses the production variables`, {
      exitCode: 2,
      advice: 'To change the variables of previews, omit --branch.',
    });
  changeRoute(platform.folder, route.project, (before) => {
    const variables: Record<string, string> = { ...variablesOf(before, scope) };
    for (const [name, value] of Object.entries(changes)) {
      if (value !== null) variables[name] = value;
      else if (!Object.hasOwn(variables, name))
        throw new CliError(`${name} is not set for ${inWords(scope)} of ${before.project}`, {
          advice: '`platform env list` shows the variables.',
        });
      else delete variables[name];
    }
    return withVariables(before, scope, variables);
  });
  await untilRouted(platform, route.project);
  return route.project;
}

function variablesOf(route: RouteRecord, scope: Scope): Variables {
  if (scope.kind === 'production') return route.vars;
  if (scope.kind === 'preview') return route.previewVars ?? {};
  if (scope.kind !== 'branch') throw noDev();
  return Object.hasOwn(route.branchVars ?? {}, scope.branch) ? route.branchVars![scope.branch]! : {};
}

function withVariables(route: RouteRecord, scope: Scope, variables: Variables): RouteRecord {
  if (scope.kind === 'production') return { ...route, vars: variables };
  if (scope.kind === 'preview') return { ...route, previewVars: variables };
  if (scope.kind !== 'branch') throw noDev();
  const { [scope.branch]: _before, ...others } = route.branchVars ?? {};
  return {
    ...route,
    branchVars: Object.keys(variables).length === 0 ? others : { ...others, [scope.branch]: variables },
  };
}

function noDev(): CliError {
  return misuse('Without a control plane, `platform dev` uses only the variables of .env');
}
