// The driver of Git hosts with GitHub's API. It opens one repository of an installation of the application, with a
// token that is limited to this repository and to the required permission. The webhook belongs to the application, not
// to a repository.
import { orNull, pathOf, type RepositoryAccess, type RepositoryRef } from '../access.ts';
import { answerFields, answerText } from '../answers.ts';
import type { GitHost, Permissions } from '../connection.ts';
import { readContents, toRepository } from '../repositories.ts';
import type { HostRequest } from '../rest.ts';
import { writeIssueComment } from './issue-comments.ts';

/** Opens a repository of an installation. */
export function openGithub(host: GitHost, installationId: string): RepositoryAccess {
  const as =
    (permissions: Permissions) =>
    (repository: RepositoryRef) =>
    (request: HostRequest): Promise<unknown> =>
      host.asInstallation({ installationId, repositoryId: repository.id, permissions }, request);
  const reader = as(readContents);
  const at = ({ fullName }: RepositoryRef): string => `/repos/${pathOf(fullName)}`;
  return {
    async readRepository(repository) {
      const row = await orNull(reader(repository)({ path: at(repository) }));
      return row === null ? null : toRepository(answerFields(row));
    },
    async readHead(repository, branch) {
      const path = `${at(repository)}/branches/${pathOf(branch)}`;
      const row = await orNull(reader(repository)({ path }));
      return row === null ? null : answerText(answerFields(answerFields(row)['commit']), 'sha');
    },
    async cloneCredential(repository) {
      const scope = { installationId, repositoryId: repository.id, permissions: readContents };
      return { username: 'x-access-token', password: await host.installationToken(scope) };
    },
    async setStatus(repository, commit, { targetUrl, ...status }) {
      await as({ statuses: 'write' })(repository)({
        method: 'POST',
        path: `${at(repository)}/statuses/${commit}`,
        body: { ...status, target_url: targetUrl },
        repeatable: true,
      });
    },
    writeComment(repository, number, comment) {
      const ask = as({ pull_requests: 'write' })(repository);
      return writeIssueComment(ask, at(repository), number, comment, (user) => user['type'] === 'Bot');
    },
  };
}
