// Why a deployment failed, in view: its message, the failing line of its log with what surrounds it, where it is in the
// sources.
import { Notice } from '../../components/notice.tsx';
import { reasonText, type Deployment } from '../../queries/deployments.ts';
import logStyles from './build-log.module.css';
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
  const at = failing === null ? -1 : lines.indexOf(failing);
  const shown =
    at < 0 ? [] : lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).filter(({ step }) => step === failing!.step);
  return (
    <Notice tone="failed" title={failing === null ? 'It failed' : `${stepName(failing.step)} failed`}>
      <p>{reason}</p>
      {shown.length > 0 && !shown.every(({ text }) => reason.includes(text)) && (
        <div className={logStyles.log} style={{ marginTop: 4 }}>
          {shown.map(({ seq, text }) => (
            <div key={seq} style={{ whiteSpace: 'pre-wrap', fontWeight: seq === failing?.seq ? 600 : 400 }}>
              {partsOf(text).map((part, index) =>
                part.file === undefined || linkTo === null ? (
                  part.text
                ) : (
                  <a
                    key={index}
                    className={logStyles.place}
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
      )}
    </Notice>
  );
}
