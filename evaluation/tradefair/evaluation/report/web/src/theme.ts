// The colours of a theme that a host asks for; without one the system's preference counts, as report.css has it.

declare const THEMES: Record<"light" | "dark", Record<string, string>>;

export function useTheme(theme: unknown): void {
  const root = document.documentElement, known = theme === "light" || theme === "dark" ? theme : null;
  root.style.colorScheme = known ?? "";
  for (const name of Object.keys(THEMES.light)) root.style.removeProperty(name);
  if (known) for (const [name, colour] of Object.entries(THEMES[known])) root.style.setProperty(name, colour);
}
