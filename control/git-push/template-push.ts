// The first push of a project that starts from a template: the platform commits the template's files to the project's
// own repository and deploys them.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { createProject as writeTemplate, templates } from '#packages/create/project.ts';
import type { Actor } from '../access/actor.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { createDeployment } from '../releases/create-deployment.ts';
import type { Audit } from '../releases/audit-entries.ts';
import { ensureRepository, gitEnvironment } from '../repositories/repositories.ts';
import { refuseFull, refuseOnFullDisk } from '../storage/refuse.ts';
import { projectRepository } from './project-repository.ts';

const run = promisify(execFile);
/** Git's ID for a ref that must not exist yet. */
const NO_COMMIT = '0'.repeat(40);

/** Templates of `platform init` that build without packages of the platform, with descriptions. */
export const deployableTemplates: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(templates).filter(([name]) => name !== 'agent'),
);

/** A project to fill. */
interface TemplatePush {
  readonly projectId: string;
  readonly organizationId: string;
  /** Name of the project. */
  readonly name: string;
  /** A key of {@link deployableTemplates}. */
  readonly template: string;
  readonly actor: Actor;
  readonly audit: Audit;
}

/**
 * @returns the id of the deployment.
 * @throws {ApiError} `conflict` if the project has code already; `storage_full` and `unavailable` as for a push.
 */
export async function pushTemplate(deps: Dependencies, given: TemplatePush): Promise<string> {
  const { projectId, organizationId, name, template, actor, audit } = given;
  await refuseFull(deps, deps.sql, organizationId);
  await refuseOnFullDisk(deps);
  const repository = await deps.sql.begin((tx) => projectRepository(tx, projectId));
  if (repository.source !== 'builtin')
    throw new ApiError('conflict', { reason: `${name} is connected to a repository elsewhere` });
  const message = `Start from the template ${template}`;
  const folder = await ensureRepository(deps.folder, repository.id, repository.defaultBranch);
  const commit = await commitTemplate(folder, repository.defaultBranch, { name, template, message });
  const { id } = await createDeployment(deps, {
    projectId,
    branch: repository.defaultBranch,
    commit,
    message,
    source: 'push',
    createdBy: actor.accountId,
    audit,
  });
  return id;
}

/** @returns the new commit, to which the branch now points. */
async function commitTemplate(
  repository: string,
  branch: string,
  { name, template, message }: { readonly name: string; readonly template: string; readonly message: string },
): Promise<string> {
  const work = await mkdtemp(path.join(tmpdir(), 'platform-template-'));
  const files = path.join(work, name);
  const env = {
    ...gitEnvironment(),
    GIT_INDEX_FILE: path.join(work, 'index'),
    GIT_AUTHOR_NAME: 'platform',
    GIT_AUTHOR_EMAIL: 'platform@localhost',
    GIT_COMMITTER_NAME: 'platform',
    GIT_COMMITTER_EMAIL: 'platform@localhost',
  };
  const git = async (...words: string[]): Promise<string> =>
    (await run('git', ['--git-dir', repository, '--work-tree', files, ...words], { env, cwd: work })).stdout.trim();
  try {
    writeTemplate(template, files, { changeManifest: withoutOwnPackages });
    await git('-C', files, 'add', '--all', '.');
    const tree = await git('write-tree');
    const commit = await git('commit-tree', '-m', message, tree);
    const ref = `refs/heads/${branch}`;
    await git('update-ref', ref, commit, NO_COMMIT).catch(async (error: unknown) => {
      // The exit code is the same for every failure.
      await git('show-ref', '--verify', '--quiet', ref).catch(() => Promise.reject(error as Error));
      throw new ApiError('conflict', { reason: `${name} already has code on the branch ${branch}` });
    });
    return commit;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Builds do not need the CLI and the types, and a registry may not have them. */
function withoutOwnPackages(text: string): string {
  const manifest = JSON.parse(text) as { devDependencies: Record<string, string> };
  const kept = Object.entries(manifest.devDependencies).filter(([name]) => !name.startsWith('@platform-run/'));
  return `${JSON.stringify({ ...manifest, devDependencies: Object.fromEntries(kept) }, null, 2)}\n`;
}
