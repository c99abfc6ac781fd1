// Alert rules that fire now, with links, for the overview of a project and of an organization.
import { Link } from '@tanstack/react-router';
import { Notice } from '../../components/notice.tsx';
import { countText } from '../../components/text.ts';
import { Time } from '../../components/time.tsx';
import styles from './firing-notice.module.css';

interface FiringRule {
  readonly id: string;
  /** Name of the rule's project. */
  readonly project: string;
  readonly name: string;
  readonly message: string;
  readonly firedAt: string | null;
}

interface FiringNoticeProps {
  /** The number of firing rules, which may be larger than the list. */
  readonly total: number;
  readonly rules: readonly FiringRule[];
  readonly showsProject?: boolean;
}

export function FiringNotice({ total, rules, showsProject = false }: FiringNoticeProps) {
  if (total === 0) return null;
  return (
    <Notice tone="failed" title={total === 1 ? '1 alert is firing' : `${countText(total)} alerts are firing`}>
      <ul className={styles.firing}>
        {rules.map(({ id, project, name, message, firedAt }) => (
          <li key={id}>
            {showsProject && `${project}: `}
            <Link className="link" to="/projects/$project/settings/alerts" params={{ project }} search={{ rule: id }}>
              {name}
            </Link>
            : {message}
            {firedAt !== null && (
              <>
                {' '}
                (<Time at={firedAt} />)
              </>
            )}
          </li>
        ))}
      </ul>
      {total > rules.length && <p>The newest {countText(rules.length)} are shown.</p>}
    </Notice>
  );
}
