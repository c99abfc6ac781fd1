// What making a deployment production would change, or has changed: commits, names of variables, migrations.
import { Link } from '@tanstack/react-router';
import { Notice } from '../../components/notice.tsx';
import type { Promotion } from '../../queries/deployments.ts';
import styles from './deployments.module.css';

/** One sentence. @example 'Moves 2 addresses to this deployment; 1 migration runs first.' */
export function promotionSentence({ urls, migrations, migrationsSince, way }: Promotion): string {
  const moves = `Moves ${counted(urls.length, 'address', 'addresses')} to this deployment`;
  if (way === 'rollback') {
    const since = countFiles(migrationsSince);
    return since === 0 ? `${moves}.` : `${moves}; ${counted(since, 'migration', 'migrations')} ran since and stay.`;
  }
  if (migrations === null) return `${moves}. Which migrations would run cannot be said at the moment.`;
  const pending = countFiles(migrations);
  return pending === 0
    ? `${moves}; no migration runs.`
    : `${moves}; ${counted(pending, 'migration runs', 'migrations run')} first.`;
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

function countFiles(migrations: readonly { readonly files: readonly string[] }[]): number {
  return migrations.reduce((sum, { files }) => sum + files.length, 0);
}

export function PromotionChanges({ preview }: { readonly preview: Promotion }) {
  const { commits, direction, variables, migrations, migrationsSince, risky } = preview;
  const sign = direction === 'add' ? '+' : '−';
  const signClass = direction === 'add' ? styles.plus : styles.minus;
  const named =
    variables === null
      ? []
      : [
          ...variables.added.map((name) => ['+', name, styles.plus, 'new'] as const),
          ...variables.changed.map((name) => ['~', name, styles.change, 'changed'] as const),
          ...variables.removed.map((name) => ['−', name, styles.minus, 'gone'] as const),
        ];
  const files = [...(migrations ?? []), ...migrationsSince].flatMap(({ resource, files: names }) =>
    names.map((name) => `${resource}: ${name}`),
  );
  if (commits.length + named.length + files.length === 0)
    return <p className={styles.faint}>Commits, variables and migrations are those of production.</p>;
  return (
    <div style={{ display: 'grid', gap: 14, marginTop: 12 }}>
      {commits.length > 0 && (
        <div>
          <h3>{direction === 'add' ? 'Commits that production gets' : 'Commits that production loses'}</h3>
          <ul className={styles.changes}>
            {commits.map(({ sha, message, deploymentId }) => (
              <li key={sha}>
                <span className={signClass}>{sign}</span>
                <code className={styles.faint}>{sha.slice(0, 7)}</code>
                {deploymentId === null ? (
                  <span>{message ?? 'without a message'}</span>
                ) : (
                  <Link to="/deployments/$deployment" params={{ deployment: deploymentId }}>
                    {message ?? 'without a message'}
                  </Link>
                )}
              </li>
            ))}
          </ul>
        </div>
      )}
      {named.length > 0 && (
        <div>
          <h3>Variables</h3>
          <ul className={styles.changes}>
            {named.map(([mark, name, className, word]) => (
              <li key={name}>
                <span className={className}>{mark}</span>
                <code>{name}</code>
                <span className={styles.faint}>{word}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {files.length > 0 && (
        <div>
          <h3>{migrationsSince.length > 0 ? 'Migrations that ran since' : 'Migrations that run'}</h3>
          <ul className={styles.changes}>
            {files.map((file) => (
              <li key={file}>
                <code>{file}</code>
              </li>
            ))}
          </ul>
        </div>
      )}
      {risky.length > 0 && (
        <Notice tone="warning" title="What serves now may not survive these statements">
          {risky.map((statement) => (
            <code key={statement}>{statement}</code>
          ))}
        </Notice>
      )}
    </div>
  );
}
