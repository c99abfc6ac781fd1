// What the AI calls of a project or an organization cost this month, the forecast for the end of the month, and the
// budget.
import { useQuery } from '@tanstack/react-query';
import { Section } from '../../components/page.tsx';
import { countText } from '../../components/text.ts';
import { aiMonthQuery, costText } from '../../queries/ai.ts';
import { shareText, type UsageOf } from '../../queries/usage.ts';
import { Meter } from '../analytics/usage.tsx';
import styles from '../analytics/usage.module.css';

export function AiMonth({ of }: { readonly of: UsageOf }) {
  const { data } = useQuery(aiMonthQuery(of));
  if (data === undefined) return null;
  const { spentMicros, forecastMicros, budgetMicros, unpriced } = data;
  if (budgetMicros === null && spentMicros === 0 && forecastMicros === 0) return null;
  const share = budgetMicros === null || budgetMicros === 0 ? 1 : spentMicros / budgetMicros;
  const facts = [
    ['Spent', costText(spentMicros)],
    ['Forecast', costText(forecastMicros)],
    ['Budget', 'none'],
  ];
  return (
    <Section title="Cost this month">
      {budgetMicros === null ? (
        <dl className={styles.totals}>
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      ) : (
        <Meter
          name={`${costText(spentMicros)} of ${costText(budgetMicros)}`}
          share={share}
          note={shareText(share)}
          label={`${shareText(share)} of the budget spent`}
        >
          <span>
            {forecastMicros > budgetMicros ? 'Forecast over budget: ' : 'Forecast: '}
            {costText(forecastMicros)}
          </span>
          {share >= 1 && <span>Calls to models with a price are refused until next month</span>}
        </Meter>
      )}
      <p className={styles.small}>
        The forecast assumes that each remaining day of the month (UTC) costs as much as the average of the last seven
        days.
        {unpriced > 0 && ` ${countText(unpriced)} calls to models without a price are not included.`}
      </p>
    </Section>
  );
}
