// Comments on pull requests of GitHub, Gitea and Forgejo, which have the same routes: each pull request is also an
// issue.
import { answerFields, answerList, type Answer } from '../answers.ts';
import { keepComment, type Ask, type HostComment } from '../access.ts';

/**
 * Creates or edits the platform's comment.
 *
 * @param base path of the repository.
 * @param isOurs whether the account of the platform wrote a comment.
 * @returns its id
 */
export function writeIssueComment(
  ask: Ask,
  base: string,
  number: number,
  { id, mark, body }: HostComment,
  isOurs: (user: Answer) => Promise<boolean> | boolean,
): Promise<number> {
  const comments = `${base}/issues/${number}/comments`;
  return keepComment(id, {
    async find() {
      for (const row of answerList(await ask({ path: `${comments}?per_page=100` }))) {
        const text = row['body'];
        if (typeof text !== 'string' || !text.startsWith(mark)) continue;
        if (await isOurs(answerFields(row['user'] ?? {}))) return row['id'] as number;
      }
      return null;
    },
    edit: (known) =>
      ask({ method: 'PATCH', path: `${base}/issues/comments/${known}`, body: { body }, repeatable: true }),
    create: () => ask({ method: 'POST', path: comments, body: { body } }),
  });
}
