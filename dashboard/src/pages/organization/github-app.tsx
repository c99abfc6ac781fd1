// The platform's GitHub App, for operators: creates it in the browser, shows where it can be installed, removes it.
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { Button, OutsideLink } from '../../components/button.tsx';
import { Section } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import { noteDone } from '../../components/toast.ts';
import { Unloaded } from '../../components/unloaded.tsx';
import { gitHubAppQuery } from '../../queries/git-accounts.ts';
import { useChange } from '../../records/use-change.ts';
import styles from '../settings/settings.module.css';

/** @param returnTo path of the page to return to. */
export function ConnectGitHub({ returnTo }: { readonly returnTo: string }) {
  return (
    <OutsideLink target="_self" href={`/api/auth/git-host-application?${new URLSearchParams({ redirect: returnTo })}`}>
      Connect GitHub
    </OutsideLink>
  );
}

export function GitHubApp({ returnTo }: { readonly returnTo: string }) {
  const { data, error, refetch } = useQuery(gitHubAppQuery);
  return (
    <Section title="GitHub">
      {data === undefined ? (
        <Unloaded what="the GitHub App" error={error} refetch={refetch} />
      ) : (
        <App {...data} returnTo={returnTo} />
      )}
    </Section>
  );
}

interface AppProps {
  readonly source: 'environment' | 'platform' | null;
  readonly url: string | null;
  readonly installUrl: string | null;
  readonly problem: string | null;
  readonly returnTo: string;
}

function App({ source, url, installUrl, problem, returnTo }: AppProps) {
  const remove = useChange({
    queryKey: gitHubAppQuery.queryKey,
    act: () => dataOf(api.delete('/git-host/application', { query: { disconnect: false } })),
    failed: 'Could not remove the GitHub App',
    onDone: () => noteDone('GitHub App removed. Delete the app on GitHub, too'),
  });
  if (source === null)
    return (
      <div className={styles.card}>
        <p className={styles.soft}>
          The platform registers itself as a GitHub App. You only choose its name; no restart is needed.
        </p>
        <div className={styles.buttons}>
          <ConnectGitHub returnTo={returnTo} />
        </div>
      </div>
    );
  return (
    <div className={styles.card}>
      <div className={styles.buttons}>
        <State tone={problem === null ? 'ok' : 'failed'}>{problem ?? `Connected to ${new URL(url!).host}`}</State>
        {installUrl !== null && (
          <OutsideLink size="small" href={installUrl}>
            Choose repositories
          </OutsideLink>
        )}
        {source === 'platform' && (
          <Button size="small" variant="ghost" onClick={() => remove.mutate(undefined)} isPending={remove.isPending}>
            Remove
          </Button>
        )}
      </div>
      {source === 'environment' && (
        <p className={styles.soft}>
          Variables of the platform (GITHOST_APP_ID, GITHOST_CLIENT_ID) configure this app and override one that is
          created here.
        </p>
      )}
    </div>
  );
}
