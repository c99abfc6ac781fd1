// The deploy key of a repository by ssh: the platform generates it, and the user adds the public key on the host.
import { useMutation } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { wordsOf } from '../../api/failure.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import styles from '../settings/settings.module.css';

/** Whether a repository's URL uses ssh. @example isSsh('git@git.example:acme/shop.git') // true */
export function isSsh(url: string): boolean {
  return /^(?:ssh:\/\/|[\w.-]+@[\w.-]+:)/.test(url.trim());
}

interface DeployKeyProps {
  readonly organizationId: string;
  readonly onKey: (id: string) => void;
}

export function DeployKey({ organizationId, onKey }: DeployKeyProps) {
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => dataOf(api.post('/repositories/deploy-key', { body: { organizationId } })),
    onSuccess: ({ deployKey }) => onKey(deployKey),
  });
  if (data === undefined)
    return (
      <div className={styles.buttons}>
        <Button onClick={() => mutate()} isPending={isPending}>
          Create deploy key
        </Button>
        {error !== null && <span role="alert">{wordsOf(error)}</span>}
      </div>
    );
  return (
    <>
      <p className={styles.soft}>Add this public key to the repository, as a deploy key with read access:</p>
      <CodeBlock code={data.publicKey} wraps />
    </>
  );
}
