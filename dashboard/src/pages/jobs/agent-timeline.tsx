// A run of an agent: responses of the model and tool calls with results, in order.
import { Badge, State } from '../../components/state.tsx';
import { Facts } from '../../components/page.tsx';
import { Duration, Time } from '../../components/time.tsx';
import styles from '../storage/storage.module.css';
import { askedOf, turnsOf, type ToolUse, type Turn } from './agent-turns.ts';
import type { RunStep } from './run-step.ts';

interface AgentTimelineProps {
  readonly input: unknown;
  readonly steps: readonly RunStep[];
}

export function AgentTimeline({ input, steps }: AgentTimelineProps) {
  const turns = turnsOf(steps);
  const asked = askedOf(input);
  return (
    <div className={styles.block}>
      {asked !== null && (
        <Facts
          facts={[
            ['User', asked.user],
            ['Chat', asked.chat],
            ['Platform', asked.platform],
          ]}
        />
      )}
      <span className={styles.label} style={{ marginTop: 12 }}>
        Timeline
      </span>
      {turns.length === 0 ? (
        <p className={styles.faint}>No model calls yet.</p>
      ) : (
        <ol className={styles.turns} aria-label="Timeline">
          {turns.map((turn) => (
            <TurnItem key={turn.step} turn={turn} />
          ))}
        </ol>
      )}
    </div>
  );
}

function TurnItem({ turn }: { readonly turn: Turn }) {
  const { text, model, startedAt, endedAt, attempts, problem, tools } = turn;
  return (
    <li>
      <div className={styles.more}>
        <span>
          <strong>Model</strong> {model !== null && <Badge>{model}</Badge>}
          {attempts > 0 && ` failed attempts: ${attempts}`}
        </span>
        <span>
          <Time at={startedAt} isExact />, <Duration from={startedAt} to={endedAt} />
        </span>
      </div>
      {problem !== null && <State tone="failed">{problem}</State>}
      {text !== null && text !== '' && <p className={styles.said}>{text}</p>}
      {tools.map((tool) => (
        <ToolItem key={tool.id} tool={tool} />
      ))}
    </li>
  );
}

function ToolItem({ tool }: { readonly tool: ToolUse }) {
  const { name, arguments: given, result, isError, startedAt, endedAt } = tool;
  return (
    <details className={styles.tool}>
      <summary>
        <State tone={result === null ? 'neutral' : isError ? 'failed' : 'ok'}>{name}</State>
        {startedAt !== null && <Duration from={startedAt} to={endedAt} />}
      </summary>
      <span className={styles.label}>Arguments</span>
      <pre className={styles.mono}>{given}</pre>
      <span className={styles.label}>Result</span>
      <pre className={styles.mono}>{result ?? (startedAt === null ? 'Not executed.' : 'No result yet.')}</pre>
    </details>
  );
}
