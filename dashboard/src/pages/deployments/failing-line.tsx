// The cause of a failed deployment: its message, or the failing log line with context and links to the source.
import { joined } from '../../components/class-names.ts';
import { Notice } from '../../components/notice.tsx';
import { reasonText, type Deployment } from '../../queries/deployments.ts';
import styles from './build-log.module.css';
import { coloursOf } from './colours.ts';
import { failingLine, lineParts, stepName, type LogLine } from './log-lines.ts';

const [LINES_BEFORE, LINES_AFTER] = [2, 8];

interface FailingLineProps {
  readonly deployment: Deployment;
  readonly lines: readonly LogLine[];
  readonly linkTo: ((file: string, line: number) => string) | null;
}

export function FailingLine({ deployment, lines, linkTo }: FailingLineProps) {
  const failing = failingLine(lines);
  const said = (reasonText(deployment) ?? 'No error message was reported.').trimEnd().split('\n').map(coloursOf);
  const title = failing === null ? 'Deployment failed' : `${stepName(failing.step)} failed`;
  const cause = failing?.text.trim() ?? '';
  // A message with a code frame, or with the last output of a command.
  if (said.length > 1) {
    const at = cause === '' ? -1 : said.findIndex(({ text }) => text.trim() === cause);
    const isLong = said.length > LINES_BEFORE + LINES_AFTER + 2;
    return (
      <Notice tone="failed" title={title}>
        {at > 0 && isLong && <p>{said[0]!.text}</p>}
        <Lines
          {...(isLong ? around(said, Math.max(0, at)) : { lines: said, marked: Math.max(0, at) })}
          linkTo={linkTo}
        />
      </Notice>
    );
  }
  const isQuoted = failing === null || said[0]!.text.includes(cause);
  const inStep = lines.filter(({ step }) => step === failing?.step);
  return (
    <Notice tone="failed" title={title}>
      <p>{said[0]!.text}</p>
      {!isQuoted && <Lines {...around(inStep, inStep.indexOf(failing))} linkTo={linkTo} />}
    </Notice>
  );
}

/** A line with what is before and after it. */
function around(lines: LinesProps['lines'], at: number): Pick<LinesProps, 'lines' | 'marked'> {
  const from = Math.max(0, at - LINES_BEFORE);
  return { lines: lines.slice(from, at + LINES_AFTER + 1), marked: at - from };
}

interface LinesProps extends Pick<FailingLineProps, 'linkTo'> {
  readonly lines: readonly Pick<LogLine, 'text' | 'colours'>[];
  /** Index of the line with the cause. */
  readonly marked: number;
}

function Lines({ lines, marked, linkTo }: LinesProps) {
  return (
    <div className={styles.quote}>
      {lines.map((line, at) => (
        <div key={at} className={at === marked ? styles.marker : undefined}>
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
