from . import adaptors as adaptors
from . import coders as coders
from . import estimators as estimators
from . import formats as formats
from . import groups as groups
from . import learn as learn
from . import noise as noise
from . import phi as phi
from . import plot as plot
from . import reports as reports
from . import restoration as restoration
from . import testing as testing
from . import validation as validation
from .aggregate import Aggregator as Aggregator
from .dictionary import Dictionary as Dictionary
from .epitome import Epitome as Epitome
from .formats import Picture as Picture
from .formats import read as read
from .formats import write as write
from .model_file import load as load
from .model_file import save as save
from .noise import estimate_noise as estimate_noise
from .patches import Patches as Patches
from .restoration import Restored as Restored
from .restoration import denoise as denoise
from .validation import audit as audit

__version__: str
