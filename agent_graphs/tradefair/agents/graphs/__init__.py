"""The graphs: ReAct, Reflection, Plan-and-Act."""
