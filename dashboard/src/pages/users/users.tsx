// Users of a project's app: sign-in methods, sessions; create and delete.
import { PersonIcon, PlusIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmByName } from '../../components/confirm.tsx';
import { CursorList } from '../../components/cursor-list.tsx';
import { Dialog, Sheet } from '../../components/dialog.tsx';
import { Checkbox, Field, Input } from '../../components/field.tsx';
import { Id } from '../../components/id.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { Facts } from '../../components/page.tsx';
import { Badge } from '../../components/state.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import {
  branchOf,
  resourcesQuery,
  signInQuery,
  userSessionsQuery,
  usersQuery,
  type ResourcePlace,
} from '../../queries/resources.ts';
import type { UserSearch } from '../../queries/resource-search.ts';
import { ResourcePage } from '../storage/binding-page.tsx';
import { targetOf, useChanges } from '../storage/changes.tsx';
import { PrefixField } from '../storage/prefix-field.tsx';
import styles from '../storage/storage.module.css';
import { JsonValue } from '../storage/value.tsx';

export function UsersPage() {
  return <ResourcePage title="Users">{(place) => <Declared key={place.branch ?? ''} place={place} />}</ResourcePage>;
}

function Declared({ place }: { readonly place: ResourcePlace }) {
  const { data, error, refetch } = useQuery(resourcesQuery(place));
  if (data === undefined) return <Unloaded what="the bindings" error={error} refetch={refetch} />;
  if (!data.items.some(({ kind }) => kind === 'auth'))
    return (
      <EmptyState icon={<PersonIcon />} title="Sign-in is not enabled">
        Add this to platform.yaml. Visitors sign up under /auth/, and your worker reads the user from env.PLATFORM_AUTH.
        <code className={styles.yaml}>{'auth: { binding: PLATFORM_AUTH }'}</code>
      </EmptyState>
    );
  return <Users place={place} />;
}

interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly emailVerified: boolean;
  readonly createdAt: string;
  readonly metadata: unknown;
}

function Users({ place }: { readonly place: ResourcePlace }) {
  const { email = '', user } = useSearch({ strict: false }) as UserSearch;
  const navigate = useNavigate();
  const query = useInfiniteQuery(usersQuery(place, email));
  const settings = useQuery(signInQuery(place));
  const [isCreating, setCreating] = useState(false);
  const open = (next: string | undefined): void =>
    void navigate({ to: '.', search: (before: object) => ({ ...before, user: next }) } as never);
  const items: readonly User[] = query.data?.pages.flatMap((page) => page.items) ?? [];
  const opened = items.find(({ id }) => id === user);
  return (
    <>
      <div className={styles.bar} role="search">
        <PrefixField label="Email address" name="email" />
        <Button variant="primary" onClick={() => setCreating(true)}>
          <PlusIcon />
          Create user
        </Button>
      </div>
      {settings.data !== undefined && (
        <p className={styles.faint}>
          Users sign in with {['a password', ...settings.data.providers].join(', ')}.{' '}
          {settings.data.requiresVerification
            ? 'Email addresses must be verified first.'
            : 'Email verification is not required (AUTH_REQUIRE_VERIFICATION).'}
        </p>
      )}
      <CursorList
        name="users"
        query={query}
        empty={
          <EmptyState icon={<PersonIcon />} title={email === '' ? 'No users yet' : 'No results'}>
            {email === '' && 'Visitors sign up with `POST /auth/sign-up/email` on your app.'}
          </EmptyState>
        }
      >
        {(users: readonly User[]) => (
          <Table
            label="Users"
            rows={users}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(id)}
            selectedKey={user ?? null}
            columns={[
              { id: 'email', header: 'Email', phone: 'first', cell: (one) => one.email },
              { id: 'name', header: 'Name', cell: ({ name }) => name },
              {
                id: 'verified',
                header: 'Email status',
                isFitted: true,
                cell: ({ emailVerified }) =>
                  emailVerified ? <Badge tone="ok">Verified</Badge> : <Badge>Unverified</Badge>,
              },
              {
                id: 'at',
                header: 'Created',
                isLabelled: true,
                isFitted: true,
                cell: ({ createdAt }) => <Time at={createdAt} />,
              },
            ]}
          />
        )}
      </CursorList>
      {opened !== undefined && (
        <UserSheet key={opened.id} place={place} user={opened} onClose={() => open(undefined)} />
      )}
      {isCreating && <CreateUser place={place} onClose={() => setCreating(false)} />}
    </>
  );
}

function UserSheet({
  place,
  user,
  onClose,
}: {
  readonly place: ResourcePlace;
  readonly user: User;
  readonly onClose: () => void;
}) {
  const sessions = useQuery(userSessionsQuery(place, user.id));
  const { change, isPending, question } = useChanges(place);
  const [isDeleting, setDeleting] = useState(false);
  const params = { id: place.id, user: user.id };
  return (
    <Sheet
      isOpen
      onClose={onClose}
      title={user.email}
      description={`User of ${targetOf(place)}`}
      footer={
        <Button variant="danger" onClick={() => setDeleting(true)}>
          Delete user
        </Button>
      }
    >
      <Facts
        facts={[
          ['Name', user.name === '' ? null : user.name],
          ['ID', <Id key="id" id={user.id} chars={28} />],
          ['Email', user.emailVerified ? 'verified' : 'not verified'],
          ['Created', <Time key="since" at={user.createdAt} isExact />],
          [
            'Sign-in methods',
            sessions.data === undefined
              ? null
              : sessions.data.methods.length === 0
                ? 'none'
                : sessions.data.methods.map((one) => (one === 'credential' ? 'a password' : one)).join(', '),
          ],
        ]}
      />
      {Object.keys((user.metadata ?? {}) as object).length > 0 && (
        <div className={styles.block}>
          <span className={styles.label}>Metadata</span>
          <JsonValue value={user.metadata} />
        </div>
      )}
      <div className={styles.block}>
        <span className={styles.label}>Sessions</span>
        {sessions.error !== null && <ErrorState title="Could not load the sessions" error={sessions.error} />}
        {sessions.data?.items.length === 0 && <p className={styles.faint}>No active sessions</p>}
        {sessions.data !== undefined && sessions.data.items.length > 0 && (
          <Table
            label="Sessions"
            rows={sessions.data.items}
            rowKey={({ id }) => id}
            columns={[
              {
                id: 'agent',
                header: 'Client',
                phone: 'first',
                cell: ({ userAgent, address }) => (
                  <span className={styles.line} title={userAgent ?? ''}>
                    {address ?? 'unknown'} {userAgent ?? ''}
                  </span>
                ),
              },
              {
                id: 'at',
                header: 'Signed in',
                isLabelled: true,
                isFitted: true,
                cell: ({ createdAt }) => <Time at={createdAt} />,
              },
            ]}
            actions={({ id }) => (
              <Button
                size="small"
                isPending={isPending}
                onClick={() =>
                  change({
                    done: 'Session signed out',
                    failed: 'Could not sign out the session',
                    act: () =>
                      dataOf(
                        api.delete('/projects/:id/users/:user/sessions/:session', {
                          params: { ...params, session: id },
                          query: branchOf(place),
                        }),
                      ),
                  })
                }
              >
                Sign out
              </Button>
            )}
          />
        )}
      </div>
      {question}
      <ConfirmByName
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        name={user.email}
        title="Delete this user?"
        action="Delete user"
        onConfirm={() => {
          setDeleting(false);
          change({
            done: 'User deleted',
            failed: 'Could not delete the user',
            act: () => dataOf(api.delete('/projects/:id/users/:user', { params, query: branchOf(place) })),
            after: onClose,
          });
        }}
      >
        {user.email} of {targetOf(place)} cannot sign in any more, and all sessions end.
      </ConfirmByName>
    </Sheet>
  );
}

function CreateUser({ place, onClose }: { readonly place: ResourcePlace; readonly onClose: () => void }) {
  const { change, isPending, question } = useChanges(place);
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [isVerified, setVerified] = useState(false);
  return (
    <>
      <Dialog
        isOpen
        onClose={onClose}
        title="Create user"
        description={`In ${targetOf(place)}`}
        onSubmit={() =>
          change({
            done: 'User created',
            failed: 'Could not create the user',
            act: () =>
              dataOf(
                api.post('/projects/:id/users', {
                  params: { id: place.id },
                  query: branchOf(place),
                  body: {
                    email,
                    emailVerified: isVerified,
                    ...(name !== '' && { name }),
                    ...(password !== '' && { password }),
                  },
                }),
              ),
            after: onClose,
          })
        }
        footer={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" isPending={isPending}>
              Create
            </Button>
          </>
        }
      >
        <Field label="Email">
          {(control) => (
            <Input
              {...control}
              type="email"
              required
              value={email}
              onChange={(event) => setEmail(event.target.value)}
            />
          )}
        </Field>
        <Field label="Name">
          {(control) => <Input {...control} value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <Field label="Password" hint="8 to 128 characters. Leave empty to let the user set one by email.">
          {(control) => (
            <Input
              {...control}
              type="password"
              autoComplete="new-password"
              minLength={8}
              maxLength={128}
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          )}
        </Field>
        <Checkbox
          label="Email is verified"
          checked={isVerified}
          onChange={(event) => setVerified(event.target.checked)}
        />
      </Dialog>
      {question}
    </>
  );
}
