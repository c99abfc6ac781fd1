// How many lines and requests of a period were not stored, and a link to the page that counts all of them.
import { Link } from '@tanstack/react-router';
import { Notice } from '../../components/notice.tsx';
import { countText } from '../../components/text.ts';
import type { Project } from '../../queries/account.ts';

interface DroppedProps {
  readonly project: Project;
  readonly dropped: { readonly lines: number; readonly invocations: number; readonly spans: number };
}

export function Dropped({ project, dropped: { lines, invocations, spans } }: DroppedProps) {
  if (lines + invocations + spans === 0) return null;
  return (
    <Notice
      tone="warning"
      title={`${countText(lines)} lines and ${countText(invocations)} requests of this period were dropped`}
    >
      <p>
        The project exceeded the log limits (LOG_*). Failures and slow requests are stored first.{' '}
        <Link className="link" to="/projects/$project/analytics" params={{ project: project.name }}>
          Analytics
        </Link>{' '}
        counts all requests.
      </p>
    </Notice>
  );
}
