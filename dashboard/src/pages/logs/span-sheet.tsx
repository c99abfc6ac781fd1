// Details of a span: timing, attributes, links, log lines of its invocation.
import { Link } from '@tanstack/react-router';
import { Sheet } from '../../components/dialog.tsx';
import { Id } from '../../components/id.tsx';
import { Notice } from '../../components/notice.tsx';
import { Facts, Section } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import type { Span, Trace } from '../../queries/logs.ts';
import styles from './logs.module.css';
import { WholeLine } from './request-sheet.tsx';
import { spanTime } from './waterfall.tsx';

interface SpanSheetProps {
  readonly trace: Trace;
  readonly span: Span;
  /** Project name. */
  readonly project: string;
  readonly onClose: () => void;
}

export function SpanSheet({ trace, span, project, onClose }: SpanSheetProps) {
  const lines = trace.lines.filter(({ invocation }) => invocation === span.invocation);
  const attributes = Object.entries(span.attributes);
  return (
    <Sheet isOpen onClose={onClose} title={<code>{span.name}</code>} description={<Id id={span.spanId} chars={16} />}>
      {span.error !== null && <Notice tone="failed" title={span.error} />}
      <Facts
        facts={[
          ['Started', <Time key="at" at={span.at} isExact />],
          ['Duration', spanTime(span)],
          ['Kind', span.kind],
          ['Service', project],
          [
            'Deployment',
            <Link
              key="deployment"
              to="/deployments/$deployment"
              params={{ deployment: span.deploymentId }}
              className="link"
            >
              <Id id={span.deploymentId} isPlain />
            </Link>,
          ],
          ['Branch', span.branch === '' ? null : span.branch],
          [
            'Request',
            <Link
              key="request"
              to="/projects/$project/logs/requests"
              params={{ project }}
              search={{ invocation: span.invocation, trace: trace.traceId, range: '7d' }}
              className="link"
            >
              <Id id={span.invocation} isPlain />
            </Link>,
          ],
        ]}
      />
      {attributes.length > 0 && (
        <Section title="Attributes">
          <Facts
            facts={attributes.map(([name, value]) => [
              name,
              <code key={name} className={styles.attribute}>
                {String(value)}
              </code>,
            ])}
          />
        </Section>
      )}
      {span.links.length > 0 && (
        <Section title="Linked traces">
          {span.links.map((link) => (
            <div key={link}>
              <Link
                to="/projects/$project/logs/traces/$trace"
                params={{ project, trace: link.slice(3, 35) }}
                className="link"
              >
                <Id id={link.slice(3, 35)} isPlain chars={24} />
              </Link>
            </div>
          ))}
        </Section>
      )}
      {lines.length > 0 && (
        <Section title={lines.length === 1 ? '1 line' : `${lines.length} lines`}>
          <div className={styles.lines}>
            {lines.map((line) => (
              <WholeLine key={line.id} line={line} />
            ))}
          </div>
        </Section>
      )}
    </Sheet>
  );
}
