// Reads, sets and removes variables of a project through the API.
import type { Api } from '../account/api.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { projectOf } from './project.ts';
import type { Variable } from './records.ts';
import { allOf, ask } from './requests.ts';
import { inWords, type Scope, type ScopeFlags } from './variable-flags.ts';

/** A variable; `value` is null for a secret. */
interface Listed {
  readonly id: string;
  readonly scope: Scope;
  readonly name: string;
  readonly kind: 'plaintext' | 'secret';
  readonly value: string | null;
}

/** Result of a change; `redeploy` tells when it takes effect. */
interface Changed {
  readonly project: string;
  readonly scope: Scope;
  readonly names: readonly string[];
  readonly redeploy: string | null;
}

const scopeOrder = ['production', 'preview', 'branch', 'dev'];

/** Variables of a project, of one scope or of all scopes. */
export async function readVariables(
  shell: Shell,
  api: Api,
  flags: ScopeFlags,
  scope: Scope | null,
): Promise<{ readonly project: string; readonly projectId: string; readonly variables: readonly Listed[] }> {
  const { id, name } = await projectOf(shell, api, flags);
  const all = await allOf<Variable>(api, pathOf(id));
  const variables = all
    .map(({ id: variableId, key, value, kind, scope: of, branch }): Listed => {
      const found: Scope = of === 'branch' ? { kind: of, branch: branch ?? '' } : { kind: of };
      return { id: variableId, scope: found, name: key, kind, value: kind === 'secret' ? null : value };
    })
    .filter((variable) => scope === null || isSame(variable.scope, scope))
    .toSorted((a, b) => orderOf(a).localeCompare(orderOf(b)));
  return { project: name, projectId: id, variables };
}

/** Sets variables; null removes a variable. @throws {CliError} if a removed variable is not set. */
export async function changeVariables(
  shell: Shell,
  api: Api,
  flags: ScopeFlags,
  scope: Scope,
  changes: Readonly<Record<string, string | null>>,
  isSecret: boolean,
): Promise<Changed> {
  const { project, projectId, variables } = await readVariables(shell, api, flags, scope);
  const path = pathOf(projectId);
  const before = new Map(variables.map((variable) => [variable.name, variable]));
  for (const [name, value] of Object.entries(changes))
    if (value === null && !before.has(name))
      throw new CliError(`${name} is not set for ${inWords(scope)} of ${project}`, {
        advice: '`platform env list` shows the variables.',
      });
  const set = Object.entries(changes).flatMap(([key, value]) => {
    if (value === null) return [];
    // Secrets stay secrets.
    const kind = isSecret || before.get(key)?.kind === 'secret' ? 'secret' : 'plaintext';
    return [{ key, value, kind, scope: scope.kind, ...(scope.kind === 'branch' && { branch: scope.branch }) }];
  });
  if (set.length > 0) await ask(api, 'POST', `${path}/import`, { body: { variables: set } });
  for (const [key, value] of Object.entries(changes))
    if (value === null) await ask(api, 'DELETE', `${path}/${encodeURIComponent(before.get(key)!.id)}`);
  const isServed = scope.kind !== 'dev';
  return { project, scope, names: Object.keys(changes), redeploy: isServed ? 'the next deployment' : null };
}

/** Prints the changes. */
export function tellChanged(
  shell: Shell,
  json: boolean | undefined,
  { project, scope, names, redeploy }: Changed,
): void {
  if (json === true) return shell.out(JSON.stringify({ project, target: inWords(scope), changed: names }));
  shell.out(`${shell.paint('green', 'Changed')} ${names.join(', ')} for ${inWords(scope)} of ${project}`);
  if (redeploy !== null)
    shell.err(
      shell.paint('dim', `Takes effect on ${redeploy}: \`platform deploy\`, or \`platform deployments retry\``),
    );
}

function pathOf(projectId: string): string {
  return `/environment-variables/${encodeURIComponent(projectId)}`;
}

function isSame(a: Scope, b: Scope): boolean {
  return a.kind === b.kind && (a.kind !== 'branch' || b.kind !== 'branch' || a.branch === b.branch);
}

function orderOf({ scope, name }: Listed): string {
  return `${scopeOrder.indexOf(scope.kind)} ${scope.kind === 'branch' ? scope.branch : ''} ${name}`;
}
