// Why a deployment failed, in view: its message or the failing line of its log with what surrounds it, and where that
// is in the sources.
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
  const reason = reasonText(deployment) ?? 'It failed without a reason.';
  // A message that quotes the sources, or the log, says all that the lines around it would.
  const isCode = reason.includes('\n');
  const isQuoted = isCode || failing === null || reason.includes(failing.text.trim());
  return (
    <Notice tone="failed" title={failing === null ? 'It failed' : `${stepName(failing.step)} failed`}>
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
