// Changes of a promotion or rollback: commits, variable names, migrations.
import { Link } from '@tanstack/react-router';
import { Notice } from '../../components/notice.tsx';
import type { Promotion } from '../../queries/deployments.ts';
import styles from './deployments.module.css';

/** One sentence. @example '2 URLs will point to this deployment; 1 migration runs first.' */
export function promotionSentence({ urls, migrations, migrationsSince, way }: Promotion): string {
  const moves = `${counted(urls.length, 'URL', 'URLs')} will point to this deployment`;
  if (way === 'rollback') {
    const since = countFiles(migrationsSince);
    return since === 0
      ? `${moves}.`
      : `${moves}; ${counted(since, 'later migration is', 'later migrations are')} not reverted.`;
  }
  if (migrations === null) return `${moves}. The pending migrations are currently unknown.`;
  const pending = countFiles(migrations);
  return pending === 0
    ? `${moves}; no migrations run.`
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
          ...variables.added.map((name) => ['+', name, styles.plus, 'added'] as const),
          ...variables.changed.map((name) => ['~', name, styles.change, 'changed'] as const),
          ...variables.removed.map((name) => ['−', name, styles.minus, 'removed'] as const),
        ];
  const files = [...(migrations ?? []), ...migrationsSince].flatMap(({ resource, files: names }) =>
    names.map((name) => `${resource}: ${name}`),
  );
  if (commits.length + named.length + files.length === 0)
    return <p className={styles.faint}>No changes to commits, variables or migrations.</p>;
  return (
    <div style={{ display: 'grid', gap: 14, marginTop: 12 }}>
      {commits.length > 0 && (
        <div>
          <h3>{direction === 'add' ? 'Added commits' : 'Removed commits'}</h3>
          <ul className={styles.changes}>
            {commits.map(({ sha, message, deploymentId }) => (
              <li key={sha}>
                <span className={signClass}>{sign}</span>
                <code className={styles.faint}>{sha.slice(0, 7)}</code>
                {deploymentId === null ? (
                  <span>{message ?? 'No commit message'}</span>
                ) : (
                  <Link to="/deployments/$deployment" params={{ deployment: deploymentId }}>
                    {message ?? 'No commit message'}
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
          <h3>{migrationsSince.length > 0 ? 'Migrations applied since' : 'Migrations to run'}</h3>
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
        <Notice tone="warning" title="These statements may break the live deployment">
          {risky.map((statement) => (
            <code key={statement}>{statement}</code>
          ))}
        </Notice>
      )}
    </div>
  );
}
