// Resolves the database, state, files or queue of a command to an API path.
import { bindings } from '#core/bindings/kinds.ts';
import { object } from '#core/bindings/object.ts';
import type { ResourceKind } from '#core/resource-call.ts';
import { nearestWord } from '#core/spelling.ts';
import type { Api } from '../account/api.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { needProject, targetFlags, type TargetFlags } from './project.ts';
import type { Project } from './records.ts';
import { ask, type Query } from './requests.ts';

/** Flags of commands for a resource. */
export const resourceFlags = {
  branch: {
    type: 'string',
    alias: 'b',
    valueHint: 'name',
    description: 'Use the preview of this branch (default: production)',
  },
  ...targetFlags,
  json: { type: 'boolean', description: 'Print JSON' },
} as const;

/** Values of the flags. */
export interface ResourceFlags extends TargetFlags {
  readonly branch?: string | undefined;
  readonly json?: boolean | undefined;
}

/** A binding of a deployment. */
interface Resource {
  readonly kind: ResourceKind;
  readonly binding: string;
  readonly resource: string;
}

/** The resource and its API path. */
export interface FoundResource {
  readonly api: Api;
  readonly project: Project;
  readonly binding: string;
  /** For example `/projects/prj_.../databases/DB`. */
  readonly path: string;
  /** Query of every request. */
  readonly query: Query;
}

/** Bindings of one kind, or all bindings. */
export async function resourcesOf(
  api: Api,
  project: Project,
  branch: string | undefined,
  kind?: ResourceKind,
): Promise<Resource[]> {
  const { items } = await ask<{ items: Resource[] }>(
    api,
    'GET',
    `/projects/${encodeURIComponent(project.id)}/resources`,
    {
      query: { branch },
    },
  );
  return kind === undefined ? items : items.filter((one) => one.kind === kind);
}

/**
 * Finds a resource by the name of its binding or resource; by default the only one.
 *
 * @throws {CliError} if not found or ambiguous, with a list of resources.
 */
export async function needResource(
  shell: Shell,
  flags: ResourceFlags,
  kind: ResourceKind,
  word: string | undefined,
  command: string,
): Promise<FoundResource> {
  const { api, project } = await needProject(shell, flags, command);
  const resources = await resourcesOf(api, project, flags.branch, kind);
  const found =
    word === undefined ? resources : resources.filter(({ binding, resource }) => binding === word || resource === word);
  const { path, one } = (kind === 'object' ? object : bindings[kind]).page;
  const [first, ...others] = found;
  const names = resources.map(({ binding }) => binding);
  if (first === undefined) {
    const near = nearestWord(word ?? '', names);
    throw new CliError(
      word === undefined
        ? `${project.name} has no ${one}`
        : `${project.name} has no ${one} "${word}"${near === undefined ? '' : `. Did you mean ${near}?`}`,
      {
        exitCode: 2,
        advice: names.length === 0 ? 'Add one to platform.yaml and deploy.' : `Choose one of ${names.join(', ')}.`,
      },
    );
  }
  if (others.length > 0 && word === undefined)
    throw new CliError(`${project.name} has more than one ${one}: choose one`, {
      exitCode: 2,
      advice: `Choose one of ${names.join(', ')}.`,
    });
  const at = `/projects/${encodeURIComponent(project.id)}/${path}/${encodeURIComponent(first.binding)}`;
  return { api, project, binding: first.binding, path: at, query: { branch: flags.branch } };
}
