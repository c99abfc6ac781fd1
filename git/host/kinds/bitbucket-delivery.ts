// Parses webhook deliveries of Bitbucket Cloud. A push may move several branches. Pure.
import { Failure } from '#core/failure.ts';
import {
  MESSAGE_CHARS_MAX,
  NAME_CHARS_MAX,
  arrivedAt,
  branchOf,
  commitOf,
  fields,
  optionalText,
  pullRequestNumber,
  text,
  type Delivery,
  type Fields,
} from '../delivery.ts';

/** More branches in one push are not deployed. */
const CHANGES_MAX = 100;

/** @throws {Failure} `delivery_malformed` */
export function readBitbucketDeliveries(event: string, body: unknown): Delivery[] {
  if (event === 'repo:push') return readPush(fields(body, 'the body'));
  if (/^pullrequest:(?:created|updated)$/.test(event)) return readPullRequest(fields(body, 'the body'), 'opened');
  if (/^pullrequest:(?:fulfilled|rejected)$/.test(event)) return readPullRequest(fields(body, 'the body'), 'closed');
  return [];
}

function uuidOf(repository: Fields, name: string): string {
  const [, uuid] = /^\{([0-9a-f-]{36})\}$/.exec(text(repository, 'uuid', 40)) ?? [];
  if (uuid !== undefined) return uuid;
  throw new Failure('delivery_malformed', `${name}.uuid must be an ID`);
}

function readPush(payload: Fields): Delivery[] {
  const repositoryId = uuidOf(fields(payload['repository'], 'repository'), 'repository');
  const actor = fields(payload['actor'] ?? {}, 'actor');
  const { changes } = fields(payload['push'], 'push');
  if (!Array.isArray(changes)) throw new Failure('delivery_malformed', 'push.changes must be a list');
  return (changes as unknown[]).slice(0, CHANGES_MAX).flatMap((each): Delivery[] => {
    const change = fields(each, 'push.changes');
    const [before, after] = [change['old'] ?? null, change['new'] ?? null].map((end) =>
      end === null ? null : fields(end, 'push.changes'),
    );
    const branch = after ?? before;
    if (branch == null || branch['type'] !== 'branch') return [];
    const target = after == null ? null : fields(after['target'], 'target');
    return [
      {
        event: 'push',
        installationId: '',
        repositoryId,
        branch: branchOf(text(branch, 'name', NAME_CHARS_MAX), 'name'),
        before: before == null ? null : commitOf(fields(before['target'], 'target'), 'hash'),
        after: target === null ? null : commitOf(target, 'hash'),
        pushedAt: arrivedAt(),
        message: optionalText(target?.['message'], MESSAGE_CHARS_MAX),
        author: optionalText(actor['nickname'] ?? actor['display_name'], NAME_CHARS_MAX),
        // Bitbucket does not list the changed files.
        files: null,
      },
    ];
  });
}

/** Pull requests of forks are ignored, because their commits cannot be fetched from this repository. */
function readPullRequest(payload: Fields, action: 'opened' | 'closed'): Delivery[] {
  const repositoryId = uuidOf(fields(payload['repository'], 'repository'), 'repository');
  const pullRequest = fields(payload['pullrequest'], 'pullrequest');
  const source = fields(pullRequest['source'], 'pullrequest.source');
  const origin = source['repository'] == null ? null : fields(source['repository'], 'pullrequest.source.repository');
  if (origin === null || uuidOf(origin, 'pullrequest.source.repository') !== repositoryId) return [];
  const author = fields(pullRequest['author'] ?? {}, 'pullrequest.author');
  return [
    {
      event: 'pull_request',
      installationId: '',
      repositoryId,
      action,
      number: pullRequestNumber(pullRequest, 'id'),
      branch: branchOf(text(fields(source['branch'], 'branch'), 'name', NAME_CHARS_MAX), 'branch'),
      // Bitbucket sends only the start of the hash. Pushes contain the complete hash.
      sha: optionalText(fields(source['commit'] ?? {}, 'commit')['hash'], 64),
      title: optionalText(pullRequest['title'], MESSAGE_CHARS_MAX),
      author: optionalText(author['nickname'] ?? author['display_name'], NAME_CHARS_MAX),
      isFork: false,
    },
  ];
}
