// The cause of a failed deployment: its message, or the failing log line with context and links to the source.
import { Notice } from '../../components/notice.tsx';
import { reasonText, type Deployment } from '../../queries/deployments.ts';
import styles from './build-log.module.css';
import { failingLine, partsOf, stepName, type LogLine } from './log-lines.ts';

const AROUND = 3;

interface FailingLineProps {
  readonly deployment: Deployment;
  readonly lines: readonly LogLine[];
  readonly linkTo: ((file: string, line: number) => string) | null;
}

export function FailingLine({ deployment, lines, linkTo }: FailingLineProps) {
  const failing = failingLine(lines);
  const reason = reasonText(deployment) ?? 'No error message was reported.';
  // A message with a code frame or a log excerpt needs no surrounding lines.
  const isCode = reason.includes('\n');
  const isQuoted = isCode || failing === null || reason.includes(failing.text.trim());
  return (
    <Notice tone="failed" title={failing === null ? 'Deployment failed' : `${stepName(failing.step)} failed`}>
      {isCode ? <Lines texts={reason.trimEnd().split('\n')} marked={0} linkTo={linkTo} /> : <p>{reason}</p>}
      {!isQuoted && <Surrounded failing={failing} lines={lines} linkTo={linkTo} />}
    </Notice>
  );
}

function Surrounded({
  failing,
  lines,
  linkTo,
}: Pick<FailingLineProps, 'lines' | 'linkTo'> & { readonly failing: LogLine }) {
  const at = lines.indexOf(failing);
  const from = Math.max(0, at - AROUND);
  const shown = lines.slice(from, at + AROUND + 1).filter(({ step }) => step === failing.step);
  return <Lines texts={shown.map(({ text }) => text)} marked={shown.indexOf(failing)} linkTo={linkTo} />;
}

function Lines({
  texts,
  marked,
  linkTo,
}: Pick<FailingLineProps, 'linkTo'> & { readonly texts: readonly string[]; readonly marked: number }) {
  return (
    <div className={styles.quote}>
      {texts.map((text, at) => (
        <div key={at} className={at === marked ? styles.marker : undefined}>
          {partsOf(text).map((part, index) =>
            part.file === undefined || linkTo === null ? (
              part.text
            ) : (
              <a
                key={index}
                className={styles.place}
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
