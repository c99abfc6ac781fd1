// The cause of a failed deployment: its message, or the failing log line with context and links to the source.
import { joined } from '../../components/class-names.ts';
import { Notice } from '../../components/notice.tsx';
import { Prose } from '../../components/prose.tsx';
import { reasonText, type Deployment } from '../../queries/deployments.ts';
import styles from './build-log.module.css';
import { coloursOf } from './colours.ts';
import { failingLine, lineParts, quoteOf, stepName, type LogLine, type Quote } from './log-lines.ts';

interface FailingLineProps {
  readonly deployment: Deployment;
  readonly lines: readonly LogLine[];
  readonly linkTo: ((file: string, line: number) => string) | null;
}

export function FailingLine({ deployment, lines, linkTo }: FailingLineProps) {
  const failing = failingLine(lines);
  // A message may have a code frame, or the last output of a command.
  const message = (reasonText(deployment) ?? 'No error message was reported.').trimEnd().split('\n').map(coloursOf);
  const quote = quoteOf(message, failing, lines);
  return (
    <Notice tone="failed" title={failing === null ? 'Deployment failed' : `${stepName(failing.step)} failed`}>
      {quote?.lines[0] !== message[0] && (
        <p>
          <Prose text={message[0]!.text} />
        </p>
      )}
      {quote !== null && <Lines {...quote} linkTo={linkTo} />}
    </Notice>
  );
}

/** A line of a code frame, such as `> 1 | import a from 'b'`: its columns must stay aligned. */
const FRAME_LINE = /^[>\s]*\d*\s*\|/;

function Lines({ lines, marked, linkTo }: Quote & Pick<FailingLineProps, 'linkTo'>) {
  return (
    <div className={styles.quote} tabIndex={0}>
      {lines.map((line, at) => (
        <div key={at} className={joined(at === marked && styles.marker, FRAME_LINE.test(line.text) && styles.code)}>
          {lineParts(line).map((part, index) =>
            part.file === undefined || linkTo === null ? (
              <span key={index} className={joined(...part.looks.map((look) => styles[look]))}>
                {part.text}
              </span>
            ) : (
              <a
                key={index}
                className={joined(styles.place, ...part.looks.map((look) => styles[look]))}
                href={linkTo(part.file, part.line!)}
                target="_blank"
                rel="noreferrer"
              >
                {part.text}
              </a>
            ),
          )}
        </div>
      ))}
    </div>
  );
}
