"""What an edit does to a model: to its loss, to its copying and to its heads, before and after."""

from wherewhat.effects.abilities import Ability as Ability
from wherewhat.effects.abilities import Trial as Trial
from wherewhat.effects.abilities import ability as ability
from wherewhat.effects.abilities import trial as trial
from wherewhat.effects.measures import Interval as Interval
from wherewhat.effects.measures import effect as effect
from wherewhat.effects.measures import measures as measures
