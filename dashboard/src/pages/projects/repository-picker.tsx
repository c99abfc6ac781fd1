// Lists and searches the repositories of a Git host, to choose one. If there are no repositories, it shows the reason
// and what to do.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { ApiFailure, wordsOf } from '../../api/failure.ts';
import { OutsideLink } from '../../components/button.tsx';
import { byCursor, CursorList } from '../../components/cursor-list.tsx';
import { Field, Input, Select } from '../../components/field.tsx';
import { EmptyState, Notice } from '../../components/notice.tsx';
import { Prose } from '../../components/prose.tsx';
import { Badge } from '../../components/state.tsx';
import { userQuery } from '../../queries/account.ts';
import { addressesQuery } from '../../queries/deployments.ts';
import { gitAccountsQuery } from '../../queries/git-accounts.ts';
import styles from './projects.module.css';

const TYPING_MS = 300;

interface PickerProps {
  readonly organizationId: string;
  /** `installation/id` of the selected repository; empty if none is selected. */
  readonly value: string;
  readonly onChange: (value: string, fullName: string) => void;
  /** Path to which a sign-in with the Git host returns. */
  readonly returnTo: string;
}

/** A source of repositories: the host of the OAuth application, or an account on another host. */
interface GitSource {
  /** Null means the host of the application. */
  readonly accountId: string | null;
  readonly label: string;
}

/** The sources of an organization; undefined while they load. */
export function useGitSources(organizationId: string): readonly GitSource[] | undefined {
  const { data: addresses } = useQuery(addressesQuery);
  const { data: accounts, error } = useQuery(gitAccountsQuery(organizationId));
  if (addresses === undefined || (accounts === undefined && error === null)) return undefined;
  return [
    ...(addresses.gitHost === null ? [] : [{ accountId: null, label: new URL(addresses.gitHost).host }]),
    ...(accounts ?? []).map(({ id, login, hostName }) => ({ accountId: id, label: `${hostName} (${login})` })),
  ];
}

export function RepositoryPicker(props: PickerProps) {
  const sources = useGitSources(props.organizationId);
  const [chosen, setChosen] = useState<string | null>(null);
  if (sources === undefined) return null;
  const source = sources.find(({ accountId }) => accountId === chosen) ?? sources[0];
  if (source === undefined) return <NoGitHost />;
  return (
    <>
      {sources.length > 1 && (
        <Field label="Git host">
          {(control) => (
            <Select
              {...control}
              value={source.accountId ?? ''}
              onChange={({ target }) => {
                setChosen(target.value === '' ? null : target.value);
                props.onChange('', '');
              }}
            >
              {sources.map(({ accountId, label }) => (
                <option key={label} value={accountId ?? ''}>
                  {label}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
      <Picker key={source.accountId} {...props} host={source.label} accountId={source.accountId} />
    </>
  );
}

function NoGitHost() {
  const { data: user } = useQuery(userQuery);
  return (
    <Notice title="No Git host is connected">
      {user?.isOperator === true ? (
        <p>
          Register this platform as an application of GitHub, or add another Git host on the page Git hosts of an
          organization.{' '}
          <a className="link" href="/docs/git-host" target="_blank" rel="noreferrer">
            How to connect a Git host
          </a>
        </p>
      ) : (
        <p>
          Owners and admins connect an account on the page Git hosts of the organization, once the operator of this
          platform has added the host. Or use a Git repository by URL.
        </p>
      )}
    </Notice>
  );
}

interface ListProps extends PickerProps, Pick<GitSource, 'accountId'> {
  readonly host: string;
}

function Picker({ organizationId, value, onChange, returnTo, host, accountId }: ListProps) {
  const [typed, setTyped] = useState('');
  const [search, setSearch] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setSearch(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const query = useInfiniteQuery({
    queryKey: ['git-host-repositories', organizationId, accountId, search],
    queryFn: async ({ signal, pageParam }) => {
      const asked = {
        organizationId,
        search,
        ...(accountId !== null && { accountId }),
        ...(pageParam !== undefined && { cursor: pageParam }),
      };
      const { repositories, ...rest } = await dataOf(api.get('/git-host/repositories', { query: asked, signal }));
      return { items: repositories, ...rest };
    },
    ...byCursor,
  });
  const { data, error, hasNextPage, fetchNextPage } = query;
  // A search without results so far continues with the next page.
  const isSearching = hasNextPage && data?.pages.every(({ items }) => items.length === 0) === true;
  useEffect(() => {
    if (isSearching) void fetchNextPage();
  }, [isSearching, data, fetchNextPage]);
  if (data === undefined && error instanceof ApiFailure && error.status === 422)
    return (
      <Notice tone="warning" title={`Could not list your repositories on ${host}`}>
        <p>
          <Prose text={wordsOf(error)} />
        </p>
        {accountId === null && (
          <p>
            <a className="link" href={`/api/auth/link/git-host?redirect=${encodeURIComponent(returnTo)}`}>
              Sign in with {host}
            </a>
          </p>
        )}
      </Notice>
    );
  const { installUrl = null, problems = [] } = data?.pages[0] ?? {};
  const giveAccess = installUrl !== null && (
    <OutsideLink size="small" href={installUrl}>
      Give the application access
    </OutsideLink>
  );
  return (
    <fieldset className={styles.choices}>
      <legend>Repository</legend>
      <Input
        type="search"
        aria-label="Search repositories"
        placeholder="Search repositories"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
      {problems.map(({ account, reason }) => (
        <Notice key={account} tone="warning" title={account}>
          <p>{reason}.</p>
        </Notice>
      ))}
      <div className={styles.repositories}>
        <CursorList
          name="repositories"
          query={query}
          empty={
            isSearching ? (
              <p className={styles.soft}>Searching…</p>
            ) : search !== '' ? (
              <EmptyState title="No results" action={giveAccess}>
                {accountId === null
                  ? `Searches only repositories that you can see on ${host} and that the application can access.`
                  : `Searches only repositories that the account can access on ${host}.`}
              </EmptyState>
            ) : (
              <EmptyState title="No repositories" action={giveAccess}>
                {accountId === null
                  ? `The application of this platform has no access to your repositories on ${host}. Install it there for your account or organization, then reload this page.`
                  : `The account cannot access any repositories on ${host}.`}
              </EmptyState>
            )
          }
        >
          {(repositories) =>
            repositories.map(({ installationId, hostId, fullName, isPrivate, isArchived, mayPush }) => {
              const id = `${installationId}/${hostId}`;
              return (
                <label key={id} className={styles.repository}>
                  <input
                    type="radio"
                    name="repository"
                    required
                    value={id}
                    checked={value === id}
                    disabled={isArchived || !mayPush}
                    onChange={() => onChange(id, fullName)}
                  />
                  <span>{fullName}</span>
                  {isPrivate && <Badge>Private</Badge>}
                  {isArchived ? (
                    <Badge title="Archived repositories cannot be deployed">Archived</Badge>
                  ) : (
                    !mayPush && <Badge title="You need permission to push to the repository">Read-only</Badge>
                  )}
                </label>
              );
            })
          }
        </CursorList>
      </div>
      {installUrl !== null && (
        <small className={styles.soft}>
          Is a repository missing?{' '}
          <a className="link" href={installUrl} target="_blank" rel="noreferrer">
            Give the application access on {host}
          </a>
        </small>
      )}
    </fieldset>
  );
}
